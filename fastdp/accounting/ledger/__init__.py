"""The ledger of a data set's budget: costs in integers, filters that decide, one append-only file.

Imports guarantees alone. What is spent stays spent; nothing here sees data or draws noise.
"""

from fastdp.accounting.ledger.entries import Entry as Entry
from fastdp.accounting.ledger.entries import Spending as Spending
from fastdp.accounting.ledger.ledger import Ledger as Ledger
