"""PrivateOptimizer: an optimizer of torch that steps along noisy sums of clipped gradients.

Torch is imported when the optimizer is made; it is not installed with fastdp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastdp import optional, validation
from fastdp.errors import ParameterError
from fastdp.learning.gradient_sum import GradientSum
from fastdp.learning.training import training_cost
from fastdp.random.rng import Rng

if TYPE_CHECKING:
    from fastdp.accounting.curve import PrivacyCurve

Loss = Callable[[Any, Any], Any]
"""``loss(outputs, targets)``: a number for one example, from tensors that hold one example each."""


class PrivateOptimizer:
    """Train a torch model with DP-SGD: ``step(inputs, targets)`` on a Poisson sample, then ``cost(rate=...)``.

    Gradients of single examples come from ``torch.func``, in microbatches; they are clipped and added up as integers by
    `GradientSum`, so that the result is the same bits for any order and microbatches. The wrapped optimizer sees the
    noisy mean as the gradient of every parameter. The model must not mix examples (no batch normalisation).
    [Abadi et al. 2016]

    Parameters
    ----------
    optimizer
        Any torch optimizer over all trainable parameters of the model.
    model
        The model, a ``torch.nn.Module``.
    loss
        The loss of one example, from its output and its target.
    clip
        The largest L2 norm of one example's gradient.
    noise_multiplier
        Sigma as a multiple of the clip.
    batch
        The expected size of a sample: what the sum is divided by.
    microbatch
        Examples whose gradients are held at once.
    rng
        The stream of noise; None is the process's own.

    ::

        private = PrivateOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.1), model, torch.nn.functional.cross_entropy,
            clip=1.0, noise_multiplier=1.0, batch=0.01 * len(X),
        )
        for _ in range(1000):
            chosen = torch.from_numpy(fd.learning.poisson_sample(len(X), 0.01))
            private.step(X[chosen], y[chosen])
        private.cost(rate=0.01).epsilon(delta=1e-6).upper
    """

    def __init__(
        self,
        optimizer: Any,
        model: Any,
        loss: Loss,
        *,
        clip: float,
        noise_multiplier: float,
        batch: float,
        microbatch: int = 64,
        rng: Rng | None = None,
    ) -> None:
        owner = "PrivateOptimizer"
        self._torch = optional.load(owner, "torch", extra="torch")
        self.optimizer, self.model, self.loss = optimizer, model, loss
        self.microbatch = validation.positive_integer(owner, "microbatch", microbatch)
        self._names = [name for name, one in model.named_parameters() if one.requires_grad]
        self._parameters = [one for one in model.parameters() if one.requires_grad]
        held = {id(one) for group in optimizer.param_groups for one in group["params"]}
        if held != {id(one) for one in self._parameters}:
            raise ParameterError(
                f"{owner}: the optimizer must hold all trainable parameters of the model and no others"
            )
        if any(isinstance(part, self._torch.nn.modules.batchnorm._BatchNorm) for part in model.modules()):  # noqa: SLF001
            raise ParameterError(
                f"{owner}: batch normalisation mixes examples, so that no clip bounds one of them; use GroupNorm"
            )
        shapes = tuple(tuple(one.shape) for one in self._parameters)
        self.gradients = GradientSum(clip=clip, noise_multiplier=noise_multiplier, batch=batch, shapes=shapes, rng=rng)
        self.steps = 0

    def step(self, inputs: Any, targets: Any) -> None:
        """One step along the noisy mean gradient of some examples; also of none, which a Poisson sample may be."""
        for first in range(0, len(inputs), self.microbatch):
            part = slice(first, first + self.microbatch)
            self.gradients.add(self.per_example(inputs[part], targets[part]))
        noisy = self.gradients.release()
        for parameter, gradient in zip(self._parameters, noisy, strict=True):
            parameter.grad = self._torch.as_tensor(gradient, dtype=parameter.dtype, device=parameter.device)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1

    def per_example(self, inputs: Any, targets: Any) -> list[Any]:
        """The gradients of single examples on the CPU: for every parameter a tensor with one row per example."""
        func = self._torch.func
        fixed = {name: one for name, one in self.model.named_parameters() if not one.requires_grad}
        fixed |= dict(self.model.named_buffers())
        free = {name: one.detach() for name, one in zip(self._names, self._parameters, strict=True)}

        def one_loss(values: Any, x: Any, y: Any) -> Any:
            output = func.functional_call(self.model, {**values, **fixed}, (x.unsqueeze(0),))
            return self.loss(output.squeeze(0), y)

        rows = func.vmap(func.grad(one_loss), in_dims=(None, 0, 0), randomness="different")(free, inputs, targets)
        return [rows[name].detach().cpu() for name in self._names]

    def cost(self, *, rate: float) -> PrivacyCurve:
        """The privacy curve of the steps so far, each on a Poisson sample of this rate."""
        return training_cost(self.gradients, rate=rate, steps=self.steps)
