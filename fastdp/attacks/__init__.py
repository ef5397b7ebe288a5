"""The attacks of the literature on releases of any kind, each with its success and the closed form beside it.

Stands on audits and mechanisms; noise comes through mechanisms alone. No attack prints a record: what it returns are
shares, counts and row numbers that the caller asked for.
"""

from fastdp.attacks.attack import Attack as Attack
from fastdp.attacks.averaging import averaging as averaging
from fastdp.attacks.bounded_noise import bounded_noise as bounded_noise
from fastdp.attacks.composition import composition as composition
from fastdp.attacks.dictionary import dictionary as dictionary
from fastdp.attacks.differencing import differencing as differencing
from fastdp.attacks.lattice import lattice as lattice
from fastdp.attacks.linkage import linkage as linkage
from fastdp.attacks.models.canaries import canaries as canaries
from fastdp.attacks.models.inversion import invert_model as invert_model
from fastdp.attacks.models.membership import Membership as Membership
from fastdp.attacks.models.membership import loss_attack as loss_attack
from fastdp.attacks.models.membership import membership_bound as membership_bound
from fastdp.attacks.models.membership import ratio_attack as ratio_attack
from fastdp.attacks.models.updates import distinguish_updates as distinguish_updates
from fastdp.attacks.models.updates import invert_gradients as invert_gradients
from fastdp.attacks.reconstruction import reconstruction as reconstruction
from fastdp.attacks.similarity import similarity as similarity
from fastdp.attacks.topology import topology as topology
from fastdp.attacks.tracing import tracing as tracing
from fastdp.attacks.tracker import tracker as tracker

__all__ = [
    "Attack", "Membership", "averaging", "bounded_noise", "canaries", "composition", "dictionary", "differencing",
    "distinguish_updates", "invert_gradients", "invert_model", "lattice", "linkage", "loss_attack", "membership_bound",
    "ratio_attack", "reconstruction", "similarity", "topology", "tracing", "tracker",
]  # fmt: skip
