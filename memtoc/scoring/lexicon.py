"""Word classes that the boundary matcher tells apart; all lower case, without accents."""

COPULAS = frozenset(
    "is was are were be been being equals means became becomes remains called named as".split()
)
PREPOSITIONS = frozenset("by in on at with from to of into for under since during".split())
# Words that may stand between the question's own words and the value, none of them part of it.
COMMON = (
    COPULAS
    | PREPOSITIONS
    | frozenset(
        "i im ive id me my we you it its he his him she her they their them this that these those"
        " there here who whom whose which what when where why how and or but so if then than because"
        " however although though while yet still also too very just only not no"
        " believe think thought guess recall remember know known knowledge memory say says said"
        " state states stated show shows indicate indicates indicated report reports reported"
        " according based given per provided return returned returns output result results tool"
        " response value information data database source sources lookup call search record records"
        " answer final question correct likely probably possibly perhaps maybe might may could"
        " would should must can will shall seems seem appears appear believed thought considered"
        " generally commonly usually often traditionally reportedly apparently presumably actually"
        " really certainly definitely sure certain confident certainty exactly approximately about"
        " around circa roughly has have had do does did done been identified listed recorded"
        " person man woman people name first last full date day year month time place location"
        " city town country born birth died death buried founded established created written"
        " directed released published premiered composed performed produced played married"
        " father mother son daughter child children brother sister sibling spouse husband wife"
        " director author writer composer performer singer founder publisher company band"
        " film movie song book novel series show team zone timezone best my own cached latest".split()
    )
)
HONORIFICS = frozenset(
    "mr mrs ms miss dr doctor prof professor sir dame lord lady rev reverend fr father saint"
    " king queen prince princess emperor empress tsar tsarina czar pope president general captain"
    " colonel major admiral senator judge justice infante infanta archduke archduchess grand"
    " duke duchess count countess earl baron baroness viscount viscountess marquess marquis"
    " marchioness margrave landgrave elector sultan shah emir caliph khan hon honourable honorable"
    " right actor actress director author singer composer".split()
)
TITLES = frozenset(
    "king queen prince princess emperor empress duke duchess archduke archduchess count countess"
    " earl baron baroness baronet viscount viscountess marquess marquis marchioness margrave"
    " landgrave elector lord lady sultan shah emir caliph pope bishop archbishop tsar grand"
    " hereditary of and junior senior sir".split()
)
# A name straight before one of these names another entity: Vassar College Student Association.
HEADS = frozenset(
    "association society administration foundation press committee council board department"
    " museum library union federation club institute school academy college university company"
    " records studios films pictures group team party government army church trust zoo airport"
    " station stadium bridge street road river lake island county district province award prize"
    " theatre theater hospital bank family dynasty house band orchestra choir festival cup league"
    " championship war battle treaty street memorial estate students alumni staff faculty office"
    " agency bureau commission magazine journal newspaper times review show tour album trail"
    " brother sister son daughter wife husband father mother uncle nephew widow heirs".split()
)
# Legal forms add nothing: Acme and Acme Inc are one.
LEGAL_FORMS = frozenset(
    "inc incorporated corp corporation co company ltd limited llc plc gmbh ag sa spa international"
    " group holdings".split()
)
# A name straight after one of these is another entity: the Later Han dynasty.
QUALIFIERS = frozenset(
    "new old great greater later early earlier northern southern eastern western north south east"
    " west upper lower anti non pre post pseudo step grand half young younger elder".split()
)
