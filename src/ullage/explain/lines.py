"""Numbers that depend on one varied number, and for which of its values what they decide is sure.

A ``Line`` is ``at + slope * x`` for a number ``x`` that is being varied. Arithmetic keeps it exact.
Whatever is decided by a line (a comparison, a rounding) is decided for the current value of ``x``,
and the frame that is open notes within which bounds it is decided alike. What is worked out inside
a frame therefore holds for every value within its bounds, and not for the current one alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

Number = Fraction | int


@dataclass(slots=True)
class Bounds:
    """Values of the varied number, both ends within; None where there is no end."""

    low: Fraction | None = None
    high: Fraction | None = None

    def holds(self, x: Fraction) -> bool:
        """Whether a value is within."""
        return (self.low is None or self.low <= x) and (self.high is None or x <= self.high)

    def meet(self, other: Bounds) -> None:
        """Keep what is within the other, too."""
        if other.low is not None and (self.low is None or other.low > self.low):
            self.low = other.low
        if other.high is not None and (self.high is None or other.high < self.high):
            self.high = other.high


@dataclass(slots=True)
class Varied:
    """The number that is varied: its current value, and the values that it may take.

    Those are ``first + n * step`` for whole ``n``. ``frames`` are the bounds of what is being
    worked out, the innermost last.
    """

    x: Fraction
    first: Fraction
    step: Fraction
    frames: list[Bounds] = field(default_factory=list)

    def note(self, low: Fraction | None, high: Fraction | None) -> None:
        """What was decided is so within these bounds."""
        if self.frames:
            self.frames[-1].meet(Bounds(low, high))

    @contextmanager
    def frame(self) -> Iterator[Bounds]:
        """Collect bounds; the frame around it has them, too."""
        bounds = Bounds()
        self.frames.append(bounds)
        try:
            yield bounds
        finally:
            self.frames.pop()
            self.note(bounds.low, bounds.high)

    def before(self, x: Fraction) -> Fraction:
        """The greatest value that it may take below a number."""
        return self.first + (math.ceil((x - self.first) / self.step) - 1) * self.step

    def after(self, x: Fraction) -> Fraction:
        """The least value that it may take above a number."""
        return self.first + (math.floor((x - self.first) / self.step) + 1) * self.step

    def whole_everywhere(self, line: Line) -> bool:
        """Whether a line is whole at every value that the number may take."""
        start, each = line.at + line.slope * self.first, line.slope * self.step
        return start.denominator == 1 and each.denominator == 1


class Line:
    """``at + slope * x``, to be used as a Fraction is."""

    __slots__ = ("at", "slope", "varied")

    def __init__(self, varied: Varied, at: Fraction, slope: Fraction) -> None:
        self.varied = varied
        self.at = at
        self.slope = slope

    @property
    def now(self) -> Fraction:
        """Its current value."""
        return self.at + self.slope * self.varied.x

    def _made(self, at: Fraction, slope: Fraction) -> Line | Fraction:
        return Line(self.varied, at, slope) if slope else at

    # Arithmetic.

    def __add__(self, other: Line | Number) -> Line | Fraction:
        if isinstance(other, Line):
            return self._made(self.at + other.at, self.slope + other.slope)
        return self._made(self.at + other, self.slope)

    __radd__ = __add__

    def __neg__(self) -> Line | Fraction:
        return self._made(-self.at, -self.slope)

    def __sub__(self, other: Line | Number) -> Line | Fraction:
        return self + (-other)

    def __rsub__(self, other: Number) -> Line | Fraction:
        return -self + other

    def __mul__(self, other: Line | Number) -> Line | Fraction:
        if isinstance(other, Line):
            return self._fixed() * other._fixed()
        return self._made(self.at * other, self.slope * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Line | Number) -> Line | Fraction:
        if isinstance(other, Line):
            return self._fixed() / other._fixed()
        return self._made(self.at / other, self.slope / other)

    def __rtruediv__(self, other: Number) -> Fraction:
        return other / self._fixed()

    def _fixed(self) -> Fraction:
        """The current value, where what comes of it is no line: it holds for that value alone."""
        self.varied.note(self.varied.x, self.varied.x)
        return self.now

    def __abs__(self) -> Line | Fraction:
        return -self if self < 0 else self

    # Decisions.

    def __lt__(self, other: Line | Number) -> bool:
        return self._below_zero(self - other, strictly=True)

    def __le__(self, other: Line | Number) -> bool:
        return self._below_zero(self - other, strictly=False)

    def __gt__(self, other: Line | Number) -> bool:
        return not self <= other

    def __ge__(self, other: Line | Number) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Line | Fraction | int):
            return NotImplemented
        difference = self - other
        if not isinstance(difference, Line):
            return difference == 0
        if difference.now == 0:
            self.varied.note(self.varied.x, self.varied.x)
            return True
        self._below_zero(difference, strictly=difference.now < 0)
        return False

    def _below_zero(self, value: Line | Fraction, *, strictly: bool) -> bool:
        """Whether a difference is below 0 now, noted for all values for which it is alike."""
        if not isinstance(value, Line):
            return value < 0 or (value == 0 and not strictly)
        varied, now = value.varied, value.now
        below = now < 0 or (now == 0 and not strictly)
        crossing = -value.at / value.slope
        # At the crossing the difference is 0, on which side it is depends on the comparison.
        inclusive = below != strictly
        if (value.slope > 0) == below:
            varied.note(None, crossing if inclusive else varied.before(crossing))
        else:
            varied.note(crossing if inclusive else varied.after(crossing), None)
        return below

    def __hash__(self) -> int:
        return hash((self.at, self.slope))

    def _rounded(self, value: int, low: Fraction, high: Fraction) -> Fraction | Line:
        """A whole value of the line, noted for where the line lies between two numbers."""
        for end, side in ((low, 1), (high, -1)):
            crossing = (end - self.at) / self.slope
            upward = (self.slope > 0) == (side > 0)
            self.varied.note(crossing if upward else None, None if upward else crossing)
        return Fraction(value)

    def __floor__(self) -> Fraction | Line:
        if self.varied.whole_everywhere(self):
            return self
        value = math.floor(self.now)
        # Below the next whole number: at it, the floor would be another.
        inside = self._below(value + 1)
        return self._rounded(value, Fraction(value), inside)

    def __ceil__(self) -> Fraction | Line:
        return -(math.floor(-self) * Fraction(1))

    def _below(self, end: int) -> Fraction:
        """The line's greatest value below a number, among those that it takes."""
        crossing = (end - self.at) / self.slope
        near = self.varied.before(crossing) if self.slope > 0 else self.varied.after(crossing)
        return self.at + self.slope * near

    @property
    def denominator(self) -> int:
        """That of its current value; 1 where it is whole everywhere."""
        if self.varied.whole_everywhere(self):
            return 1
        return self._fixed().denominator

    def __repr__(self) -> str:
        return f"Line({self.at} + {self.slope}x)"
