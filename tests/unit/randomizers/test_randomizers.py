"""The local randomisers: their mean, variance and privacy, and what they refuse."""

import math
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from shuffledp.randomizers import base, precision, registry
from shuffledp.randomizers.clt import GaussianLimit
from shuffledp.training.models import registry as models
from shuffledp.training.sgd import gradients

pytestmark = pytest.mark.usefixtures("one_thread")

RADIUS = 0.5
DRAWS = 40_000
SIGMAS = 5.0  # of the sampling error; one in two million per comparison
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=GPU)]
STRENGTH = {name: {"eps0": 1.0} for name in registry.PURE} | {"gaussian": {"noise_multiplier": 2.0}}


def make(name, dimension, **strength):
    return registry.create(name, dimension=dimension, radius=RADIUS, **(strength or STRENGTH[name]))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def vector(randomizer, share):
    """A vector whose norm is a share of the radius."""
    x = torch.randn(1, randomizer.dimension, generator=generator(5))
    return x / randomizer.lengths(x) * RADIUS * share


def close(samples, expected):
    """Whether the mean of samples along the first axis is within the sampling error of what is expected."""
    error = samples.std(0) / math.sqrt(samples.shape[0])
    float32 = 1e-6 * samples.abs().amax(0)
    return bool(((samples.mean(0) - expected).abs() <= SIGMAS * error + float32).all())


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("dimension", [2, 5, 16])
@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("device", DEVICES)
def test_mean_and_second_moment(name, dimension, share, device):
    randomizer = make(name, dimension)
    x = vector(randomizer, share)
    source = torch.Generator(device).manual_seed(0)
    sent = randomizer.randomize(x.expand(DRAWS, -1).contiguous().to(device), generator=source).double().cpu()
    assert close(sent, x[0].double())
    spread = (sent - x).square().sum(1)
    saved = 0.0 if name == "gaussian" else float(x.square().sum())
    assert close(spread, randomizer.variance - saved)


def test_sums_of_gaussian_messages_have_their_law():
    randomizer = make("gaussian", 3)
    x = randomizer.clip_(torch.randn(5, 3, generator=generator(1)))
    source, sums = generator(2), torch.zeros(DRAWS // 4, 3, dtype=torch.float64)
    for row in sums:
        randomizer.add(row, x, generator=source)
    assert close(sums, x.double().sum(0))
    across = sums - x.double().sum(0)
    variances = torch.einsum("ni,nj->nij", across, across)
    assert close(variances, 5 * randomizer.deviation**2 * torch.eye(3))


@pytest.mark.parametrize("name", registry.PURE)
def test_sums_have_the_law_of_sums_of_messages(name):
    randomizer = make(name, 3)
    x = randomizer.clip_(torch.randn(4, 3, generator=generator(1)))
    x[2] = 0
    source, sums = generator(3), torch.ones(DRAWS // 20, 3, dtype=torch.float64)
    for row in sums:
        randomizer.add(row, x, generator=source)
    many = x.repeat(DRAWS // 20, 1)
    messages = randomizer.randomize(many, generator=source).double().view(-1, 4, 3).sum(1)
    assert close(sums - 1, x.double().sum(0))
    # all second moments, and the third of a direction
    for power in (2, 3):
        one, other = (
            (values @ torch.tensor([1.0, -0.5, 0.3]).double()) ** power for values in (sums - 1, messages)
        )
        error = math.sqrt(float(one.var() + other.var()) / one.shape[0])
        assert abs(float(one.mean() - other.mean())) < SIGMAS * error


@pytest.mark.parametrize("name", registry.NAMES)
def test_clipping_scales_what_is_too_long(name):
    randomizer = make(name, 4)
    long, short = vector(randomizer, 3.0), vector(randomizer, 0.7)
    clipped = randomizer.clip_(torch.cat([long, short, torch.zeros(1, 4)]))
    torch.testing.assert_close(clipped, torch.cat([long / 3, short, torch.zeros(1, 4)]))


def test_hard_case_e5_equal_clients_report_differently():
    for name in registry.NAMES:
        randomizer = make(name, 50)
        source = generator()
        x = vector(randomizer, 1.0).expand(8, -1).contiguous()
        first, second = (randomizer.randomize(x, generator=source) for _ in range(2))
        again = randomizer.randomize(x, generator=generator())
        assert torch.equal(first, again)
        both = torch.cat([first, second])
        # coordinate sampling has but 2 d messages, so some may be equal
        assert len({tuple(row) for row in both.tolist()}) >= (10 if randomizer.bits < 20 else 16)


@pytest.mark.parametrize("eps0", [0.5, 2.0, 12.0, 18.0, 50.0, 800.0])
def test_a_bit_is_exactly_private(eps0):
    """The probabilities as they are drawn, multiples of 2^-53 and no smaller than the exact ones."""
    share = base.least_probability(eps0)
    ends = base.against(torch.tensor([-1.0, 1.0], dtype=torch.float64), share)
    drawn = torch.ceil(ends * 2.0**53) / 2.0**53
    for wrong in drawn.tolist():
        assert 0 < wrong <= 0.5
        # the rounding of the logarithms themselves
        assert math.log1p(-wrong) - math.log(wrong) <= eps0 * (1 + 1e-15)
    middle = base.against(torch.linspace(-1, 1, 101, dtype=torch.float64), share)
    assert bool((middle >= share).all())


@pytest.mark.parametrize("eps0", [12.0, 18.0])
def test_hard_case_e1_rare_flips_happen(eps0, monkeypatch):
    """At eps0 = 18 a bit flips once in 6.6e7; uniforms near 0 are put where chance takes long to go."""
    share = 1 / (1 + math.exp(eps0))
    uniforms = torch.tensor([0.0, share * (1 - 1e-9), share * (1 + 1e-9), 0.5], dtype=torch.float64)
    monkeypatch.setattr(base, "uniform", lambda count, *, generator: uniforms)
    ones = torch.ones(4, dtype=torch.float64)
    signs = base.randomized_signs(ones, share, generator=generator())
    assert signs.tolist() == [-1, -1, 1, 1]
    assert base.randomized_signs(-ones, share, generator=generator()).tolist() == [1, 1, -1, -1]


def test_uniforms_have_all_digits_of_a_double():
    drawn = base.uniform(1000, generator=generator())
    assert drawn.dtype == torch.float64
    fine = drawn * 2.0**53
    assert torch.equal(fine, fine.round())
    assert bool((fine % 2**25 != 0).any())


@pytest.mark.parametrize("name", ["linf_coordinate", "l1_hadamard"])
def test_ldp_ratio_of_coordinate_sampling_by_enumeration(name):
    """Frequencies of all messages at two opposite vertices of the ball, against the exact probabilities."""
    dimension, eps0 = 4, 1.0
    randomizer = make(name, dimension, eps0=eps0)
    x = torch.full((1, dimension), RADIUS)
    if name == "l1_hadamard":
        x = torch.tensor([[RADIUS, 0.0, 0.0, 0.0]])
    likely = math.exp(eps0) / (1 + math.exp(eps0)) / dimension
    counts = []
    for sign in (1, -1):
        sent = randomizer.randomize((sign * x).expand(DRAWS, -1).contiguous(), generator=generator(sign + 1))
        kinds, frequency = torch.unique((sent / sent.abs().max()).round(), dim=0, return_counts=True)
        assert kinds.shape[0] == 2 * dimension
        counts.append(dict(zip(map(tuple, kinds.tolist()), frequency.tolist(), strict=True)))
    for message, times in counts[0].items():
        mirrored = counts[1][message]
        expected = sorted([likely, likely * math.exp(-eps0)])
        for seen, probability in zip(sorted([times, mirrored]), expected, strict=True):
            deviation = math.sqrt(DRAWS * probability)
            assert abs(seen - DRAWS * probability) < SIGMAS * deviation


@pytest.mark.parametrize("name", ["l2_hemisphere", "l2_privunit"])
@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_ldp_ratio_of_directions_on_the_circle(name, eps0):
    """The density is constant on two arcs, whose ratio is e^eps0: frequencies by angle from the input."""
    randomizer = make(name, 2, eps0=eps0)
    x = torch.tensor([[RADIUS, 0.0]])
    sent = randomizer.randomize(x.expand(DRAWS, -1).contiguous(), generator=generator())
    height = sent[:, 0] / torch.linalg.vector_norm(sent, dim=1)
    edge = 0.0 if name == "l2_hemisphere" else randomizer.constants.threshold
    cap = math.acos(edge) / math.pi
    inside = cap * math.exp(eps0) / (cap * math.exp(eps0) + 1 - cap)
    assert abs(float((height >= edge).double().mean()) - inside) < SIGMAS * math.sqrt(inside / DRAWS)
    # uniform in angle on either side
    angle = torch.arccos(height.double().clamp(-1, 1)) / math.pi
    for low, high, mass in ((0.0, cap, inside), (cap, 1.0, 1 - inside)):
        cuts = torch.linspace(low, high, 5).tolist()
        for start, end in pairwise(cuts):
            part = float(((angle >= start) & (angle < end)).double().mean())
            assert abs(part - mass / 4) < SIGMAS * math.sqrt(mass / 4 / DRAWS)


@pytest.mark.parametrize("name", ["l2_hemisphere", "l2_privunit"])
def test_the_gaussian_limit_has_mean_and_covariance(name):
    exact = make(name, 5)
    limit = GaussianLimit(exact)
    x = exact.clip_(torch.randn(4, 5, generator=generator(8)))
    x[0] *= 0.3
    sums = {}
    for kind, randomizer in {"exact": exact, "limit": limit}.items():
        source, total = generator(4), torch.zeros(2000, 5, dtype=torch.float64)
        for row in total:
            randomizer.add(row, x, generator=source)
        assert close(total, x.double().sum(0))
        centred = total - x.double().sum(0)
        sums[kind] = centred.unsqueeze(2) * centred.unsqueeze(1)
    # sum of M^2/d I - x x^T
    covariance = 4 * exact.scale**2 / 5 * torch.eye(5, dtype=torch.float64) - (x.T @ x).double()
    off_diagonal = 0.02 * exact.scale**2  # M^2/d I holds on average over directions only
    for products in sums.values():
        error = products.std(0) / math.sqrt(products.shape[0])
        assert bool(((products.mean(0) - covariance).abs() <= SIGMAS * error + off_diagonal).all())


@pytest.mark.parametrize(
    ("name", "dimension", "bits"),
    [("linf_coordinate", 13706, 15), ("l1_hadamard", 13706, 15), ("l2_privunit", 13706, 32 * 13706)],
)
def test_bits(name, dimension, bits):
    assert make(name, dimension).bits == bits


def test_variances_of_girgis2021():
    c = (math.e + 1) / (math.e - 1)
    assert make("linf_coordinate", 10).variance == pytest.approx((10 * RADIUS * c) ** 2)
    assert make("l1_hadamard", 10).variance == pytest.approx(10 * (RADIUS * c) ** 2)
    assert make("l2_hemisphere", 10).variance < 14 * 10 * (RADIUS * c) ** 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "laplace"}, "randomizer must be one of"),
        ({"eps0": 0.0}, "eps0 must be"),
        ({"eps0": math.nan}, "eps0 must be"),
        ({"radius": 0.0}, "radius must be"),
        ({"dimension": 1}, "dimension must be"),
        ({"noise_multiplier": 1.0}, "takes eps0 and not noise_multiplier"),
        ({"eps0": None}, "takes eps0 and not noise_multiplier"),
        ({"name": "gaussian"}, "takes noise_multiplier and not eps0"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    good = {"name": "linf_coordinate", "dimension": 4, "radius": 1.0, "eps0": 1.0}
    with pytest.raises(ValueError, match=message):
        registry.create(**{**good, **change})


@pytest.mark.parametrize("name", registry.NAMES)
def test_inputs_of_the_wrong_norm_are_refused(name):
    randomizer = make(name, 4)
    registry.check_inputs(randomizer, vector(randomizer, 1.0))
    with pytest.raises(ValueError, match=rf"{randomizer.norm} ball of radius 0.5, got a row of norm 1; clip"):
        registry.check_inputs(randomizer, vector(randomizer, 2.0))
    with pytest.raises(ValueError, match="shape"):
        registry.check_inputs(randomizer, torch.zeros(2, 5))


# --- rows of every kind and number

BATCHES = [1, 3, 32, 33, 1000]
DTYPES = [torch.float32, torch.float64]
KINDS = {
    "zero": 0.0,
    "negative zero": -0.0,
    "subnormal": 1e-42,
    "smallest": 5e-324,
    "huge": 3e38,
    "beyond float32": 1e308,
}


def sides(sent):
    """One fair sign a message if the input is 0: that of its first entry that is not 0."""
    first = (sent != 0).int().argmax(1, keepdim=True)
    return sent.gather(1, first).squeeze(1) > 0


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("batch", "clipped"),
    [
        # row by row takes seconds, and what is not clipped is asked of batches
        pytest.param(batch, clipped, marks=[pytest.mark.slow] if batch == 1 and not clipped else [])
        for batch in BATCHES
        for clipped in (False, True)
    ],
)
@pytest.mark.few(30)
def test_rows_of_zeros_say_nothing(name, dtype, batch, clipped):
    """Signs are fair: at 5.5 deviations one comparison in 26 million fails by chance."""
    randomizer, source = make(name, 10), generator(batch)
    positive = count = 0
    for sign in (0.0, -0.0):
        for _ in range(max(400 // batch, 1)):
            x = torch.full((batch, 10), sign, dtype=dtype)
            x = randomizer.clip_(x) if clipped else x
            assert not x.any()
            sent = randomizer.randomize(x, generator=source)
            assert sent.dtype == dtype
            assert bool(torch.isfinite(sent).all())
            positive += int(sides(sent).sum())
            count += batch
    assert abs(positive - count / 2) < 5.5 * math.sqrt(count) / 2


@pytest.mark.parametrize("name", registry.NAMES)
def test_nobody_sends_nothing(name):
    randomizer, source, total = make(name, 10), generator(0), torch.zeros(10, dtype=torch.float64)
    nobody = torch.zeros(0, 10)
    assert randomizer.randomize(randomizer.clip_(nobody), generator=source).shape == (0, 10)
    randomizer.add(total, nobody, generator=source)
    assert not total.any()


def test_lengths_of_rows_of_zeros_are_not_negative():
    """A negative zero would divide the radius to minus infinity."""
    for name in registry.NAMES:
        for batch in BATCHES:
            lengths = make(name, 10).lengths(torch.zeros(batch, 10))
            assert not bool(torch.signbit(lengths).any())


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("batch", [1, 33])
def test_any_finite_row_is_clipped_and_sent(name, kind, dtype, batch):
    value = torch.tensor(KINDS[kind], dtype=dtype)
    if not bool(torch.isfinite(value)):
        return
    randomizer, source = make(name, 4), generator()
    rows = value * torch.tensor([1.0, -1.0, 0.5, 0.0], dtype=dtype)
    x = rows.expand(batch, -1).contiguous()
    for given in (x, randomizer.clip_(x.clone())):
        sent = randomizer.randomize(given, generator=source).double()
        largest = RADIUS + 20 * randomizer.deviation if name == "gaussian" else randomizer.scale * 1.01
        assert bool(torch.isfinite(sent).all())
        assert float(sent.abs().max()) <= largest
        for add in (randomizer.add, randomizer.clip_and_add):
            total = torch.zeros(4, dtype=torch.float64)
            add(total, given.clone(), generator=source)
            assert float(total.abs().max()) <= batch * largest
    clipped = randomizer.clip_(x.clone())
    assert float(randomizer.lengths(clipped.double()).max()) <= RADIUS * (1 + 1e-5)
    if float(value) > 1:  # onto the surface, in the same direction
        expected = rows.double() / rows.double().abs().amax()
        expected = expected / randomizer.lengths(expected.unsqueeze(0)) * RADIUS
        torch.testing.assert_close(clipped[-1].double(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize(("dtype", "value"), [(torch.float32, 3e38), (torch.float64, 1e308)], ids=str)
def test_of_huge_rows_the_direction_counts(name, dtype, value):
    """The message of a row that is far too long is that of the row on the surface: the mean tells."""
    randomizer = make(name, 2)
    x = torch.tensor([[value, -value]], dtype=dtype).expand(DRAWS, -1).contiguous()
    share = {"linf": 1.0, "l1": 0.5, "l2": 0.5**0.5}[randomizer.norm]
    expected = share * RADIUS * torch.tensor([1.0, -1.0])
    for given in (x, randomizer.clip_(x.clone())):
        assert close(randomizer.randomize(given, generator=generator(4)).double(), expected)
        source, sums = generator(5), torch.zeros(400, 2, dtype=torch.float64)
        for row in sums:
            randomizer.add(row, given[:8], generator=source)
        assert close(sums, 8 * expected)


@pytest.mark.parametrize("name", ["l2_hemisphere", "l2_privunit"])
def test_rows_whose_squares_underflow_have_a_direction(name):
    """With a radius as small the mean tells; as rows of zeros they would be sent with mean 0."""
    tiny = 2.0**-80
    randomizer = registry.create(name, dimension=2, radius=tiny, eps0=1.0)
    x = tiny / 2 * torch.tensor([[1.0, -1.0]]).expand(8, -1)
    assert torch.equal(randomizer.clip_(x.clone()), x)
    source, sums = generator(5), torch.zeros(1500, 2, dtype=torch.float64)
    for row in sums:
        randomizer.add(row, x, generator=source)
    assert close(sums / tiny, 4 * torch.tensor([1.0, -1.0]))


@pytest.mark.parametrize("name", registry.PURE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_probabilities_are_private_whatever_the_row(name, dtype, monkeypatch):
    """All coins of all finite rows, those outside the ball too, are as private as a bit may be: exactly."""
    randomizer, drawn = make(name, 4), []
    rare = base.rare

    def watched(probability, **arguments):
        drawn.append(torch.as_tensor(probability, dtype=torch.float64).reshape(-1))
        return rare(probability, **arguments)

    monkeypatch.setattr(base, "rare", watched)
    values = [value for value in KINDS.values() if math.isfinite(float(torch.tensor(value, dtype=dtype)))]
    rows = [[a, -b, b, 1e-3] for a in [*values, 0.3] for b in [*values, 0.3]]
    x = torch.tensor(rows, dtype=dtype)
    for given in (x, -x, randomizer.clip_(x.clone())):
        randomizer.randomize(given, generator=generator())
        randomizer.add(torch.zeros(4, dtype=torch.float64), given, generator=generator())
    coins = torch.cat(drawn)
    assert coins.numel() >= 6 * x.shape[0]
    # PrivUnit's first coin costs no privacy, its second has one probability for all rows
    least = 0.0 if name == "l2_privunit" else randomizer.least
    assert bool(((coins >= least) & (coins <= 0.5)).all())
    if name == "l2_privunit":
        fixed = [found for found in drawn if found.numel() == 1]
        assert {float(found) for found in fixed} == {randomizer.constants.rest_probability}


@pytest.mark.parametrize("name", [*registry.PURE, "limit"])
@pytest.mark.parametrize("batch", [3, 33])
@pytest.mark.few(6)
def test_sums_of_rows_of_zeros_say_nothing(name, batch):
    """The mean of a sum is 0 and its sign is fair, for zeros of either sign."""
    randomizer = GaussianLimit(make("l2_privunit", 2)) if name == "limit" else make(name, 2)
    for sign in (0.0, -0.0):
        x = randomizer.clip_(torch.full((batch, 2), sign))
        source, sums = generator(batch), torch.zeros(500, 2, dtype=torch.float64)
        for row in sums:
            randomizer.add(row, x, generator=source)
        assert close(sums, torch.zeros(2))
        assert float(sums.square().sum(1).mean()) == pytest.approx(batch * randomizer.variance, rel=0.3)


def test_the_limit_survives_a_height_of_one(monkeypatch):
    """Nothing is left across a vector then, by which the spread divides."""
    exact = make("l2_privunit", 2)
    monkeypatch.setattr(exact, "heights", lambda length, *, generator: torch.ones_like(length))
    total = torch.zeros(2, dtype=torch.float64)
    GaussianLimit(exact).add(total, torch.tensor([[0.0, RADIUS]]), generator=generator())
    torch.testing.assert_close(total, torch.tensor([0.0, exact.scale]).double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES)
def test_what_is_not_finite_is_an_error_that_names_the_row(name, value, dtype, batch):
    randomizer, row = make(name, 10), batch - 1
    for fill in (0.0, 0.1):
        x = torch.full((batch, 10), fill, dtype=dtype)
        x[row, 7] = value
        message = rf"x must be finite, got {value} in row {row},"
        with pytest.raises(base.NotFiniteError, match=message):
            randomizer.randomize(x.clone(), generator=generator())
        with pytest.raises(base.NotFiniteError, match=message):
            randomizer.clip_(x.clone())
        with pytest.raises(base.NotFiniteError, match=message):
            randomizer.add(torch.zeros(10, dtype=torch.float64), x.clone(), generator=generator())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_or_length_that_is_not_finite_is_an_error(value):
    values = torch.zeros(40, dtype=torch.float64)
    values[33] = value
    draws = [
        make("linf_coordinate", 5).signs,
        make("l2_hemisphere", 5).heights,
        make("l2_privunit", 5).heights,
    ]
    for draw in draws:
        with pytest.raises(base.NotFiniteError, match=f"got {value} in row 33"):
            draw(values, generator=generator())
    with pytest.raises(base.NotFiniteError, match=f"got {value} in row 33"):
        base.against(values, 0.1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_gaussian_limit_refuses_what_is_not_finite(value):
    x = torch.zeros(33, 5)
    x[32, 1] = value
    with pytest.raises(base.NotFiniteError, match="in row 32"):
        GaussianLimit(make("l2_hemisphere", 5)).add(torch.zeros(5).double(), x, generator=generator())


@pytest.mark.parametrize("name", [*registry.NAMES, "limit"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_are_clipped_and_added_as_in_two_steps(name, dtype):
    randomizer = GaussianLimit(make("l2_privunit", 10)) if name == "limit" else make(name, 10)
    x = torch.randn(33, 10, dtype=dtype, generator=generator(1)) * torch.logspace(-25, 18, 33).unsqueeze(1)
    x[3], x[4] = 0, torch.finfo(dtype).max
    one, other = torch.zeros(2, 10, dtype=torch.float64)
    clipped = randomizer.clip_(x.clone())
    randomizer.add(one, clipped, generator=generator(2))
    randomizer.clip_and_add(other, x, generator=generator(2))
    assert torch.equal(x, clipped)
    assert torch.equal(one, other)


def test_what_is_refused_is_left_as_it_was():
    x = torch.full((3, 4), 7.0)
    x[2, 1] = math.inf
    before = x.clone()
    randomizer, total = make("l2_privunit", 4), torch.zeros(4, dtype=torch.float64)
    with pytest.raises(base.NotFiniteError):
        randomizer.clip_(x)
    with pytest.raises(base.NotFiniteError):
        randomizer.clip_and_add(total, x, generator=generator())
    assert torch.equal(x, before)
    assert not total.any()


def test_inputs_that_are_not_finite_are_refused_by_row():
    x = torch.zeros(2, 4)
    x[1, 1] = math.nan
    with pytest.raises(base.NotFiniteError, match="in row 1"):
        registry.check_inputs(make("l2_privunit", 4), x)


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (torch.zeros(2, 4, dtype=torch.int64), TypeError, "float32 or float64, got torch.int64"),
        (torch.zeros(2, 4, dtype=torch.float16), TypeError, "float32 or float64, got torch.float16"),
        (torch.zeros(2, 3), ValueError, r"shape \(clients, 4\), got \(2, 3\)"),
        (torch.zeros(4), ValueError, r"shape \(clients, 4\), got \(4,\)"),
    ],
)
def test_tensors_of_another_type_or_shape_are_refused(name, x, error, message):
    randomizer = make(name, 4)
    total = torch.zeros(4, dtype=torch.float64)
    with pytest.raises(error, match=message):
        randomizer.randomize(x, generator=generator())
    with pytest.raises(error, match=message):
        randomizer.add(total, x, generator=generator())
    with pytest.raises(error, match=message):
        randomizer.clip_(x)
    with pytest.raises(error, match=message):
        randomizer.clip_and_add(total, x, generator=generator())


@pytest.mark.parametrize(("z", "radius"), [(1e-300, 1.0), (1.0, 1e-40), (1e-200, 1e-200), (1e100, 1e100)])
def test_gaussian_noise_that_rounds_to_nothing_is_refused(z, radius):
    with pytest.raises(
        ValueError, match="noise_multiplier, alone and times the radius, must be at least 1e-30"
    ):
        registry.create("gaussian", dimension=4, radius=radius, noise_multiplier=z)


# --- what the low bits of a message tell


def low_bits(sent, unit):
    """Events that rounding decides: how far the norm is off, by the digits of either type, and low bits."""
    norm = torch.linalg.vector_norm(sent.double(), dim=1) / unit
    kind = torch.int32 if sent.dtype == torch.float32 else torch.int64
    bits = sent[:, :2].contiguous().view(kind) & 3
    events = [(norm - 1).abs() > 1e-7]
    for digits in (25, 53):
        off = ((norm - 1) * 2.0**digits).round()
        events += [off == steps for steps in range(-3, 4)]
    events += [column == value for column in bits.T for value in range(4)]
    small = sent[:, :2].abs() < 1e-2 * unit
    events += [(column == 0) & few for column, few in zip(bits.T, small.T, strict=True)]
    return torch.stack(events, 1)


@pytest.mark.parametrize("name", ["l2_hemisphere", "l2_privunit", "gaussian"])
@pytest.mark.parametrize("dimension", [2, 3, 10, 100])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.few(9)
def test_low_bits_do_not_tell_inputs_apart(name, dimension, dtype):
    """A pair on and off the axes: frequencies of events within e^eps0, but for the error of sampling."""
    eps0 = 0.1  # noise of 1000 C changes densities by less, but where hardly anything falls
    strength = {"noise_multiplier": 1000.0} if name == "gaussian" else {"eps0": eps0}
    randomizer = make(name, dimension, **strength)
    unit = randomizer.deviation if name == "gaussian" else randomizer.scale
    on, off = torch.zeros(1, dimension), torch.randn(1, dimension, generator=generator(3))
    on[0, 0] = RADIUS
    off *= RADIUS / torch.linalg.vector_norm(off)
    counts = []
    for seed, x in enumerate((on, off)):
        many = x.to(dtype).expand(DRAWS, -1).contiguous()
        counts.append(low_bits(randomizer.randomize(many, generator=generator(seed)), unit).double().sum(0))
    ratio = math.exp(eps0)
    for one, other in (counts, counts[::-1]):
        error = SIGMAS * (one + ratio**2 * other + 9).sqrt()
        assert bool((one <= ratio * other + error).all())


@pytest.mark.parametrize("dimension", [2, 3, 100])
def test_messages_with_noise_lie_on_a_grid_that_is_the_same_in_every_dimension(dimension):
    randomizer = make("gaussian", dimension)
    x = vector(randomizer, 0.8).double().expand(100, -1).contiguous()
    steps = randomizer.randomize(x, generator=generator()) / randomizer.deviation * 2.0**24
    assert float((steps - steps.round()).abs().max()) <= 1e-6


@pytest.mark.parametrize("name", ["l2_hemisphere", "l2_privunit"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_messages_have_the_length_and_digits_they_should(name, dtype):
    for dimension in (2, 3, 100):
        randomizer = make(name, dimension)
        x = vector(randomizer, 0.8).to(dtype).expand(1000, -1).contiguous()
        sent = randomizer.randomize(x, generator=generator()).double()
        length = torch.linalg.vector_norm(sent, dim=1)
        torch.testing.assert_close(length, torch.full_like(length, randomizer.scale), rtol=1.5e-7, atol=0)
        if dtype == torch.float64:  # float32 rounds once more
            steps = sent / randomizer.scale * 2.0 ** (24 + math.floor(math.log2(dimension) / 2))
            assert float((steps - steps.round()).abs().max()) <= 1e-6


# --- products in full


def settings():
    """All that torch has to say about the precision of products; the older switches may be contradicted."""
    backends, found = torch.backends, []
    try:
        found += [
            torch.get_float32_matmul_precision(),
            backends.cuda.matmul.allow_tf32,
            backends.cudnn.allow_tf32,
        ]
    except RuntimeError:
        found.append("contradicted")
    return [
        *found,
        *(switch.fp32_precision for switch in precision._switches()),
        torch.is_autocast_enabled("cpu"),
    ]


def allow_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True


def allow_bfloat16():
    torch.set_float32_matmul_precision("medium")


def allow_by_newer_switches():
    for switch in precision._switches()[:2]:
        switch.fp32_precision = "tf32"


@pytest.fixture
def restored():
    older, newer = precision._older(), [switch.fp32_precision for switch in precision._switches()]
    yield
    precision._set_older(*older)
    for switch, before in zip(precision._switches(), newer, strict=True):
        switch.fp32_precision = before


def watching(original, found):
    def watched(*arguments, **named):
        found.append(settings())
        return original(*arguments, **named)

    return watched


@pytest.fixture
def seen(monkeypatch):
    """The settings whenever a norm or a product is computed."""
    found = []
    for place, name in (
        (torch.linalg, "vector_norm"),
        (torch.linalg, "vecdot"),
        (torch, "bmm"),
        (torch.nn.functional, "conv2d"),
        (torch.nn.functional, "linear"),
        (base, "uniform"),
        (torch.Tensor, "normal_"),
        (torch.Tensor, "amax"),
        (torch.Tensor, "sum"),
    ):
        monkeypatch.setattr(place, name, watching(getattr(place, name), found))
    return found


FULL = ["highest", False, False, *["ieee"] * len(precision._switches()), False]


@pytest.mark.parametrize("allow", [allow_tf32, allow_bfloat16, allow_by_newer_switches])
@pytest.mark.parametrize("name", [*registry.NAMES, "limit"])
@pytest.mark.usefixtures("restored")
def test_products_are_computed_in_full_whatever_the_caller_allows(name, allow, seen):
    randomizer = GaussianLimit(make("l2_hemisphere", 4)) if name == "limit" else make(name, 4)
    total, x = torch.zeros(4, dtype=torch.float64), torch.full((3, 4), 0.3)
    allow()
    before = settings()
    with torch.autocast("cpu"):
        calls = [
            randomizer.clip_,
            lambda x: randomizer.add(total, x, generator=generator()),
            lambda x: randomizer.clip_and_add(total, x, generator=generator()),
        ]
        if name != "limit":
            calls.append(lambda x: randomizer.randomize(x, generator=generator()))
        for call in calls:
            seen.clear()
            call(x.clone())
            assert seen
            assert all(found == FULL for found in seen)
            with pytest.raises(base.NotFiniteError):
                call(x / 0)
            assert settings() == [*before[:-1], True]
    assert settings() == before


@pytest.mark.parametrize("model", ["mnist_cnn_16", "logistic_binary"])
@pytest.mark.usefixtures("restored")
def test_gradients_are_computed_in_full_whatever_the_caller_allows(model, seen):
    source = gradients.of(models.create(model, seed=0))
    images, labels = torch.rand(3, 1, 28, 28), torch.tensor([0, 1, 1])
    expected, _ = source.full(images, labels)
    allow_tf32()
    before = settings()
    for call in (
        lambda: source.full(images, labels),
        lambda: source.drawn(images, labels, torch.tensor([0, 5, 9])),
        lambda: source.logits(images),
    ):
        seen.clear()
        with torch.autocast("cpu"):
            call()
        assert seen
        assert all(found == FULL for found in seen)
        assert settings() == before
    with torch.autocast("cpu"):
        torch.testing.assert_close(source.full(images, labels)[0], expected, rtol=0, atol=0)
