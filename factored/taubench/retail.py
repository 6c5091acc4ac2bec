"""The retail domain: orders, products and users of a shop; 16 tools.

The reading tools come first, then the writing ones. ``db`` is the state of one episode.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from factored.taubench.common import (
    UserId,
    calculate,
    get_user_details,
    think,
    transfer_to_human_agents,
)
from factored.taubench.state import Record, State
from factored.taubench.tools import Domain, RefusedError, require, tool

OrderId = Annotated[str, "The order id with its '#', such as '#W0000000'."]
ItemIds = Annotated[list[str], "Item ids, such as '1008292230'; an id may occur more than once."]
NewItemIds = Annotated[list[str], "In the place of each item id, one of the same product type."]
MethodId = Annotated[str, "A payment method of the user, such as 'gift_card_0000000'."]
Reason = Annotated[Literal["no longer needed", "ordered by mistake"], "Why it is cancelled."]

# The order in which the tools write an address; in the files, country stands before state.
ADDRESS_KEYS = ("address1", "address2", "city", "state", "country", "zip")


@tool
def find_user_id_by_email(db: State, email: Annotated[str, "Such as 'a@example.com'."]) -> str:
    """Find a user id by e-mail."""
    for user_id, user in db["users"].items():
        if user["email"].lower() == email.lower():
            return user_id
    raise RefusedError("user not found")


@tool
def find_user_id_by_name_zip(db: State, first_name: str, last_name: str, zip: str) -> str:
    """Find a user id by first name, last name and the zip code of the default address."""
    for user_id, user in db["users"].items():
        if (
            user["name"]["first_name"].lower() == first_name.lower()
            and user["name"]["last_name"].lower() == last_name.lower()
            and user["address"]["zip"] == zip
        ):
            return user_id
    raise RefusedError("user not found")


@tool
def get_order_details(db: State, order_id: OrderId) -> Record:
    """Show an order's status and details."""
    require(order_id in db["orders"], "order not found")
    return db["orders"][order_id]


@tool
def get_product_details(db: State, product_id: Annotated[str, "Not an item id."]) -> Record:
    """Show a product type with all its variants."""
    require(product_id in db["products"], "product not found")
    return db["products"][product_id]


@tool
def list_all_product_types(db: State) -> Record:
    """List the name and the product id of every product type."""
    ids = {product["name"]: product["product_id"] for product in db["products"].values()}
    return dict(sorted(ids.items()))


@tool
def cancel_pending_order(db: State, order_id: OrderId, reason: Reason) -> Record:
    """Cancel a pending order and refund what was paid."""
    require(order_id in db["orders"], "order not found")
    order = db["orders"][order_id]
    require(order["status"] == "pending", "non-pending order cannot be cancelled")
    require(reason in ("no longer needed", "ordered by mistake"), "invalid reason")

    order = db["orders"].edit(order_id)
    refunds = []
    # Every entry is paid back, refunds that a change of payment left behind included.
    for entry in order["payment_history"]:
        refunds.append(_entry("refund", entry["amount"], entry["payment_method_id"]))
        if "gift_card" in entry["payment_method_id"]:
            card = _own_methods(db, order)[entry["payment_method_id"]]
            _add_to_card(card, entry["amount"])
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"].extend(refunds)
    return order


@tool
def modify_pending_order_address(
    db: State,
    *,
    order_id: OrderId,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Record:
    """Change the address of a pending order."""
    require(order_id in db["orders"], "order not found")
    require(db["orders"][order_id]["status"] == "pending", "non-pending order cannot be modified")

    order = db["orders"].edit(order_id)
    order["address"] = _address(address1, address2, city, state, country, zip)
    return order


@tool
def modify_user_address(
    db: State,
    *,
    user_id: UserId,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Record:
    """Change the default address of a user."""
    require(user_id in db["users"], "user not found")

    user = db["users"].edit(user_id)
    user["address"] = _address(address1, address2, city, state, country, zip)
    return user


@tool
def modify_pending_order_payment(
    db: State, order_id: OrderId, payment_method_id: MethodId
) -> Record:
    """Pay a pending order with another payment method."""
    require(order_id in db["orders"], "order not found")
    order = db["orders"][order_id]
    require(order["status"] == "pending", "non-pending order cannot be modified")
    require(payment_method_id in _methods(db, order), "payment method not found")
    history = order["payment_history"]
    require(
        len(history) <= 1 and history[0]["transaction_type"] == "payment",
        "there should be exactly one payment for a pending order",
    )
    old_id, amount = history[0]["payment_method_id"], history[0]["amount"]
    require(
        old_id != payment_method_id,
        "the new payment method should be different from the current one",
    )
    method = _methods(db, order)[payment_method_id]
    require(_can_pay(method, amount), "insufficient gift card balance to pay for the order")

    order = db["orders"].edit(order_id)
    order["payment_history"].append(_entry("payment", amount, payment_method_id))
    order["payment_history"].append(_entry("refund", amount, old_id))
    if method["source"] == "gift_card":
        _add_to_card(_own_methods(db, order)[payment_method_id], -amount)
    if "gift_card" in old_id:
        _add_to_card(_own_methods(db, order)[old_id], amount)
    return order


@tool
def modify_pending_order_items(
    db: State,
    order_id: OrderId,
    item_ids: ItemIds,
    new_item_ids: NewItemIds,
    payment_method_id: MethodId,
) -> Record:
    """Replace items of a pending order, once, by others of the same product types."""
    require(order_id in db["orders"], "order not found")
    order = db["orders"][order_id]
    require(order["status"] == "pending", "non-pending order cannot be modified")
    difference = _price_difference(db, order, item_ids, new_item_ids)
    require(payment_method_id in _methods(db, order), "payment method not found")
    method = _methods(db, order)[payment_method_id]
    require(
        _can_pay(method, difference),
        "insufficient gift card balance to pay for the new item",
    )

    order = db["orders"].edit(order_id)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_entry(kind, abs(difference), payment_method_id))
    if method["source"] == "gift_card":
        _add_to_card(_own_methods(db, order)[payment_method_id], -difference)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _first_item(order, item_id)
        variant = db["products"][item["product_id"]]["variants"][new_item_id]
        item["item_id"] = new_item_id
        item["price"] = variant["price"]
        item["options"] = dict(variant["options"])
    order["status"] = "pending (item modified)"
    return order


@tool
def exchange_delivered_order_items(
    db: State,
    order_id: OrderId,
    item_ids: ItemIds,
    new_item_ids: NewItemIds,
    payment_method_id: MethodId,
) -> Record:
    """Ask to exchange items of a delivered order, once, for others of the same product types."""
    require(order_id in db["orders"], "order not found")
    order = db["orders"][order_id]
    require(order["status"] == "delivered", "non-delivered order cannot be exchanged")
    difference = round(_price_difference(db, order, item_ids, new_item_ids), 2)
    require(payment_method_id in _methods(db, order), "payment method not found")
    require(
        _can_pay(_methods(db, order)[payment_method_id], difference),
        "insufficient gift card balance to pay for the price difference",
    )

    order = db["orders"].edit(order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return order


@tool
def return_delivered_order_items(
    db: State, order_id: OrderId, item_ids: ItemIds, payment_method_id: MethodId
) -> Record:
    """Ask to return items of a delivered order, to its payment method or a gift card."""
    require(order_id in db["orders"], "order not found")
    order = db["orders"][order_id]
    require(order["status"] == "delivered", "non-delivered order cannot be returned")
    require(payment_method_id in _methods(db, order), "payment method not found")
    require(
        "gift_card" in payment_method_id
        or payment_method_id == order["payment_history"][0]["payment_method_id"],
        "payment method should be either the original payment method or a gift card",
    )
    require(all(_owns(order, item_ids, item_id) for item_id in item_ids), "some item not found")

    order = db["orders"].edit(order_id)
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return order


def _methods(db: State, order: Record) -> Mapping[str, Record]:
    """The payment methods of the order's owner, for reading."""
    methods: Mapping[str, Record] = db["users"][order["user_id"]]["payment_methods"]
    return methods


def _own_methods(db: State, order: Record) -> Mapping[str, Record]:
    """The payment methods of the order's owner, for writing."""
    methods: Mapping[str, Record] = db["users"].edit(order["user_id"])["payment_methods"]
    return methods


def _can_pay(method: Record, amount: float) -> bool:
    """Only a gift card has a limit."""
    return bool(method["source"] != "gift_card" or method["balance"] >= amount)


def _add_to_card(card: Record, amount: float) -> None:
    card["balance"] = round(card["balance"] + amount, 2)


def _entry(kind: str, amount: float, payment_method_id: str) -> Record:
    return {
        "transaction_type": kind,
        "amount": amount,
        "payment_method_id": payment_method_id,
    }


def _address(*parts: str) -> Record:
    return dict(zip(ADDRESS_KEYS, parts, strict=True))


def _first_item(order: Record, item_id: str) -> Record:
    """The order's first line that now has this item id."""
    return next(item for item in order["items"] if item["item_id"] == item_id)


def _owns(order: Record, item_ids: Sequence[str], item_id: str) -> bool:
    """Does the order hold this item as often as it is asked for?"""
    owned = [item["item_id"] for item in order["items"]]
    return item_ids.count(item_id) <= owned.count(item_id)


def _price_difference(
    db: State, order: Record, item_ids: Sequence[str], new_item_ids: Sequence[str]
) -> float:
    """Sum of new variant price - stored item price, unrounded; the checks of a replacement."""
    for item_id in item_ids:
        require(_owns(order, item_ids, item_id), f"{item_id} not found")
    require(len(item_ids) == len(new_item_ids), "the number of items to be exchanged should match")
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _first_item(order, item_id)
        variants = db["products"][item["product_id"]]["variants"]
        require(
            new_item_id in variants and variants[new_item_id]["available"],
            f"new item {new_item_id} not found or available",
        )
        difference += variants[new_item_id]["price"] - item["price"]
    return difference


RETAIL = Domain(
    name="retail",
    tables=("orders", "products", "users"),
    tools=(
        calculate,
        cancel_pending_order,
        exchange_delivered_order_items,
        find_user_id_by_email,
        find_user_id_by_name_zip,
        get_order_details,
        get_product_details,
        get_user_details,
        list_all_product_types,
        modify_pending_order_address,
        modify_pending_order_items,
        modify_pending_order_payment,
        modify_user_address,
        return_delivered_order_items,
        think,
        transfer_to_human_agents,
    ),
    writes=frozenset(
        {
            "cancel_pending_order",
            "exchange_delivered_order_items",
            "modify_pending_order_address",
            "modify_pending_order_items",
            "modify_pending_order_payment",
            "modify_user_address",
            "return_delivered_order_items",
        }
    ),
)
