"""What code a product rests on is found by its imports, and told by a digest that moves do not change."""

import ast
import dataclasses
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from shuffledp import accountants
from shuffledp.accountants.evaluation import evaluate
from shuffledp.records import digest, requests, tables
from shuffledp.records.product import Product
from shuffledp.reproduction import config
from shuffledp.reproduction.config import documentation
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.figures.kind import kinds
from shuffledp.reproduction.ledger import products as ledger_products
from shuffledp.reproduction.report import products as report_products
from shuffledp.reproduction.tables import Simulation

SOURCE = '''"""What the module is for."""

import math  # for pi


class Circle:
    """A circle."""

    sides = 0


def area(radius):
    """Return the area.

    Args:
        radius: of the circle.
    """
    # half of the circumference times the radius
    text = """a # b

    c"""
    if radius > 0:
        radius = radius + 0
    return math.pi * radius**2, text


def one(): "Return 1."; return 1
'''
NOT_CODE = {
    "comment changed": ("# half of the circumference", "# one half of the circumference"),
    "comment at the end of a line": ("radius + 0", "radius + 0  # nothing"),
    "comment dropped": ("  # for pi", ""),
    "docstring of a function": ("Return the area.", "Return the area of the circle."),
    "docstring of a class": ("A circle.", "A circle,\n\n    which is round.\n    "),
    "docstring of the module": ('"""What the module is for."""', ""),
    "blank lines": ("    if radius", "\n\n    if radius"),
    "spaces at the end": ("sides = 0", "sides = 0   "),
    "line ends": ("\n", "\r\n"),
}
CODE = {
    "number": ("radius**2", "radius**3"),
    "name": ("sides", "edges"),
    "new statement": ("    if radius", "    radius = 2\n    if radius"),
    "statement turned into a comment": ("        radius = radius + 0", "        pass  # radius = radius + 0"),
    "indentation": ("    return math", "        return math"),
    "hash in a string": ("a # b", "a # c"),
    "line in a string": ("    c", "    d"),
    "blank line in a string": ("a # b\n\n", "a # b\n"),
    "statement after a docstring on its line": ("return 1\n", "return 2\n"),
}


def _edited(old, new):
    assert old in SOURCE
    return SOURCE.replace(old, new)


@pytest.mark.parametrize(("old", "new"), NOT_CODE.values(), ids=NOT_CODE)
def test_digest_ignores_what_is_no_code(package, old, new):
    package.write("a", SOURCE)
    before = package.digest("a")
    package.write("a", _edited(old, new))
    assert package.digest("a") == before


@pytest.mark.parametrize(("old", "new"), CODE.values(), ids=CODE)
def test_digest_sees_code(package, old, new):
    package.write("a", SOURCE)
    before = package.digest("a")
    package.write("a", _edited(old, new))
    assert package.digest("a") != before


def test_digest_does_not_depend_on_times_or_on_the_order_of_names(package):
    package.write("a", SOURCE)
    package.write("b", "x = 1\n")
    before = package.digest("a", "b")
    os.utime(package.path("a"), (1, 1))
    digest.forget()
    assert package.digest("b", "a") == before
    assert package.digest("a") != before


def test_digest_sees_a_statement_move_to_another_module(package):
    package.write("a", "import PACKAGE.b\nx = 1\n")
    package.write("b", "y = 1\n")
    before = package.digest("a")
    package.write("a", "import PACKAGE.b\n")
    package.write("b", "x = 1\ny = 1\n")
    assert package.digest("a") != before


IMPORTS = {
    "import": ("import PACKAGE.b", {"b"}),
    "import as": ("import PACKAGE.b as other", {"b"}),
    "module from package": ("from PACKAGE import b", {"b"}),
    "name from module": ("from PACKAGE.b import f", {"b"}),
    "inside a function": ("def g():\n    from PACKAGE.b import f\n    return f", {"b"}),
    "module of a subpackage": ("from PACKAGE.sub import c", {"sub.c"}),
    "name that a subpackage collects": ("from PACKAGE.sub import h", {"sub.c"}),
    "module that a subpackage collects": ("from PACKAGE.sub import b", {"b"}),
    "name that a subpackage defines": ("from PACKAGE.sub import own", {"sub", "sub.c", "sub.clash", "b"}),
    "name of a module that a subpackage gives to something else": (
        "from PACKAGE.sub import clash",
        {"sub.clash"},
    ),
    "for a type checker alone": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from PACKAGE import b",
        set(),
    ),
    "else for a type checker": (
        "import typing\nif typing.TYPE_CHECKING:\n    import json\nelse:\n    from PACKAGE import b",
        {"b"},
    ),
    "several": ("from PACKAGE import b\nimport PACKAGE.sub.c", {"b", "sub.c"}),
    "not ours": ("import json\nfrom pathlib import Path", set()),
    "the package itself": ("import PACKAGE", set()),
}


@pytest.mark.parametrize(("statement", "expected"), IMPORTS.values(), ids=IMPORTS)
def test_imports_are_followed(package, statement, expected):
    package.write("a", statement + "\n")
    package.write("b", "import math\n\ndef f():\n    return 1\n")
    collected = "from PACKAGE.sub.c import h", "from PACKAGE import b", "from PACKAGE.sub.clash import clash"
    package.write("sub.__init__", "\n".join([*collected, "def own():\n    return h() + b.f()\n"]))
    package.write("sub.c", "def h():\n    return 1\n")
    package.write("sub.clash", "def clash():\n    return 1\n")
    package.write("unused", "import PACKAGE.b\n")
    assert package.behind("a") == {"a", *expected}


def test_digest_sees_what_is_far_behind(package):
    package.write("a", "from PACKAGE import b\n")
    package.write("b", "from PACKAGE.c import x\n")
    package.write("c", "x = 1\n")
    before = package.digest("a")
    package.write("unrelated", "x = 1\n")
    assert package.digest("a") == before
    package.write("c", "x = 2\n")
    assert package.digest("a") != before


def test_circles_of_imports_end(package):
    package.write("a", "import PACKAGE.b\n")
    package.write("b", "import PACKAGE.a\n")
    assert package.behind("a") == package.behind("b") == {"a", "b"}


@pytest.mark.parametrize("changed", ["a", "b", "c", "d"])
def test_digest_sees_what_changes_in_and_behind_a_circle(package, changed):
    sources = {
        "a": "from PACKAGE import b\nx = 1\n",
        "b": "def f():\n    from PACKAGE import c\n    return c\nx = 2\n",
        "c": "from PACKAGE import a, d\nx = 3\n",
        "d": "x = 4\n",
    }
    for name, source in sources.items():
        package.write(name, source)
    before = {name: package.digest(name) for name in sources}
    digest.forget()
    assert {name: package.digest(name) for name in reversed(sources)} == before, "in whatever order"
    assert len(set(before.values())) == 4
    package.write(changed, sources[changed] + "y = 0\n")
    after = {name: package.digest(name) for name in sources}
    stale = {"d"} - {changed}
    assert {name for name in sources if after[name] == before[name]} == stale


# The same module before and after: what it depends on is the same, or is not.
SAME = {
    "another place": ("from PACKAGE.b import f\n", "from PACKAGE.sub.b import f\n"),
    "another place of a module": ("from PACKAGE import b\n", "from PACKAGE.sub import b\n"),
    "by way of a package": ("from PACKAGE.b import f\n", "from PACKAGE.sub import f\n"),
    "another order": (
        "from PACKAGE.b import f\nfrom PACKAGE.c import g\n",
        "from PACKAGE.c import g\nfrom PACKAGE.sub.b import f\n",
    ),
    "lines in brackets": (
        "from PACKAGE.c import g, h\n",
        "from PACKAGE.c import (\n    g,  # one\n    h,\n)\n",
    ),
    "for a type checker alone": ("", "if TYPE_CHECKING:\n    from PACKAGE.c import g\n"),
}
OTHER = {
    "other alias": ("from PACKAGE.b import f as f\n", "from PACKAGE.b import f as g\n"),
    "other name": ("from PACKAGE.c import g as f\n", "from PACKAGE.c import h as f\n"),
    "aliases swapped": (
        "from PACKAGE.c import g\nfrom PACKAGE.c import h\n",
        "from PACKAGE.c import g as h\nfrom PACKAGE.c import h as g\n",
    ),
    "functions swap what they import": (
        "def p():\n    from PACKAGE.b import f\n    return f\n"
        "def q():\n    from PACKAGE.c import g as f\n    return f\n",
        "def p():\n    from PACKAGE.c import g as f\n    return f\n"
        "def q():\n    from PACKAGE.b import f\n    return f\n",
    ),
    "module for its name": ("from PACKAGE import c\n", "from PACKAGE.c import g as c\n"),
    "one import less": ("from PACKAGE.b import f\n", ""),
}


def _before_and_after(package, statements):
    function = "def f():\n    return 1\n"
    package.write("b", function)
    package.write("c", "def g():\n    return 2\n\n\ndef h():\n    return 3\n")
    package.write("sub.__init__", "from PACKAGE.sub.b import f\n")
    package.write("sub.b", function)
    digests = []
    for statement in statements:
        package.write("a", "TYPE_CHECKING = False\n" + statement + "x = 1\n")
        digests.append(package.digest("a"))
    return digests


@pytest.mark.parametrize("statements", SAME.values(), ids=SAME)
def test_digest_does_not_see_where_code_lies(package, statements):
    if "TYPE" in statements[1]:
        statements = ("if TYPE_CHECKING:\n    from PACKAGE.b import f\n", statements[1])
    before, after = _before_and_after(package, statements)
    assert before == after


@pytest.mark.parametrize("statements", OTHER.values(), ids=OTHER)
def test_digest_sees_what_a_name_stands_for(package, statements):
    before, after = _before_and_after(package, statements)
    assert before != after


def test_a_module_that_does_not_count_is_not_looked_at(package):
    package.write("a", "from PACKAGE import b\nx = 1\n")
    package.write("b", "from PACKAGE import c\n")
    package.write("c", "x = 1\n")
    modules, without = (f"{package.name}.a",), (f"{package.name}.b",)
    before = digest.code_digest(modules), digest.code_digest(modules, without)
    assert before[0] != before[1]
    package.write("c", "x = 2\n")
    assert digest.code_digest(modules) != before[0], "behind b alone"
    assert digest.code_digest(modules, without) == before[1]
    package.write("a", "from PACKAGE import b\nx = 2\n")
    assert digest.code_digest(modules, without) != before[1]


@pytest.fixture
def copy(root, tmp_path, monkeypatch):
    """A copy of this package, whose digests are taken in place of those of the package itself."""
    copied = tmp_path / "workflow/shuffledp"
    shutil.copytree(root / "workflow/shuffledp", copied, ignore=shutil.ignore_patterns("__pycache__"))
    path = digest._path

    def inside(module):
        found = path(module)
        base = copied.joinpath(*module.split(".")[1:])
        moved = base.with_name(f"{base.name}.py")
        if found is None or not (copied / found.relative_to(root / "workflow/shuffledp")).exists():
            return moved if moved.is_file() else None
        return copied / found.relative_to(root / "workflow/shuffledp")

    monkeypatch.setattr(digest, "_path", inside)
    digest.forget()
    yield copied
    monkeypatch.undo()
    digest.forget()


def _digests(products):
    digest.forget()
    return {product.record: product.request()["code"] for product in products}


MOVED = {
    "shuffledp.numerics.log_space": "shuffledp.mathematics.numbers",
    "shuffledp.records.tables": "shuffledp.kept.tables",
    "shuffledp.training.sgd.layers": "shuffledp.training.layers",
    "shuffledp.randomizers.constants": "shuffledp.mathematics.constants",
    "shuffledp.rdp.wang2019": "shuffledp.mathematics.wang2019",
}


def _move(package, old, new):
    """Move a module of a copy of the package, and mend what imports it."""
    path, target = (package.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in (old, new))
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    (folder, name), (goal, called) = old.rsplit(".", 1), new.rsplit(".", 1)
    for source in package.rglob("*.py"):
        lines = source.read_text(encoding="utf-8").split("\n")
        for at, line in enumerate(lines):
            line = re.sub(rf"\b(from|import) {re.escape(old)}\b", rf"\1 {new}", line)
            found = re.fullmatch(rf"( *from {re.escape(folder)} import )(\w.*)", line)
            if found and name in (names := found[2].split(", ")):
                names.remove(name)
                indent, others = re.match(" *", line)[0], ", ".join(names)
                line = f"{indent}from {goal} import {called} as {name}".removesuffix(f" as {called}")
                line += f"\n{found[1]}{others}" if others else ""
            lines[at] = line
        source.write_text("\n".join(lines), encoding="utf-8")


def test_moves_are_free(shipped, copy, root):
    """Modules of a copy are moved to other folders, one under another name: every digest stays."""
    products = _all_products(shipped)
    before = _digests(products)
    for old, new in MOVED.items():
        _move(copy, old, new)
        assert not (root / "workflow/shuffledp").joinpath(*new.split(".")[1:]).with_suffix(".py").exists()
    renamed = [_renamed(product) for product in products]
    assert any(product.modules != other.modules for product, other in zip(products, renamed, strict=True))
    assert _digests(renamed) == before


def _renamed(product):
    return dataclasses.replace(
        product,
        modules=[MOVED.get(name, name) for name in product.modules],
        without=[MOVED.get(name, name) for name in product.without],
    )


def _all_products(settings):
    return [
        *(curve.product("results") for curve in settings.curves),
        *(settings.product(figure) for figure in settings.of("bounds")),
        *(run for entry in settings.experiments for run in settings.trainings(entry)),
        *(tuning.product("results") for tuning in settings.tunings),
        *(panel.product("results") for panel in settings.tables_of(Simulation)),
        ledger_products.claims(settings),
    ]


@pytest.mark.parametrize(
    "module",
    ["rdp.wang2019", "training.models.initialization", "numerics.log_space", "randomizers.base", "protocols"],
)
def test_a_changed_constant_makes_stale_what_depends_on_it_and_nothing_else(shipped, copy, module):
    products = _all_products(shipped)
    before = _digests(products)
    path = copy.joinpath(*module.split(".")).with_suffix(".py")
    lines = path.read_text(encoding="utf-8").splitlines()
    constants = [
        node
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]
    place = constants[len(constants) // 2]
    line = lines[place.lineno - 1].encode()
    changed = f"{line[: place.col_offset].decode()}{place.value + 1}{line[place.end_col_offset :].decode()}"
    lines[place.lineno - 1] = changed
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    after = _digests(products)
    stale = {record for record in before if after[record] != before[record]}
    behind = {product.record: digest.modules_behind(product.modules, product.without) for product in products}
    assert stale == {record for record, modules in behind.items() if f"shuffledp.{module}" in modules}
    assert 0 < len(stale) < len(products)


def test_every_import_in_the_package_is_of_a_form_that_is_followed(root):
    sources = sorted((root / "workflow/shuffledp").rglob("*.py"))
    assert sources
    for source in sources:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        assert not relative, (
            f"{source} line {relative[0].lineno}: the digest of code follows absolute imports"
        )


# Modules that import others by a name put together at run time, and why the digest may not follow them.
AT_RUN_TIME = {
    "accountants/__init__.py": "the modules of accountants, of which a curve names that of its own",
    "randomizers/names.py": "a run names the module of its randomiser itself",
    "randomizers/registry.py": "a run names the module of its randomiser itself",
    "training/models/registry.py": "a run names the module of its network itself",
    "reproduction/figures/kind.py": "the modules of kinds, which the products of their figures name",
    "reproduction/deferred.py": "a library that is loaded later, which is none of this package",
    "reproduction/benchmarks/accountants.py": "a library to compare with, which is none of this package",
}


def test_what_is_imported_by_name_at_run_time_is_known(root):
    package = root / "workflow/shuffledp"
    found = {
        source.relative_to(package).as_posix()
        for source in package.rglob("*.py")
        if re.search(r"import_module|__import__", source.read_text(encoding="utf-8"))
    }
    assert found == set(AT_RUN_TIME)


def _curve(name):
    fixed = (("n", 1e4), ("k", 100.0), ("eps0", 0.5), ("delta", 1e-6))
    return Curve("paper", "figure", "a", name, "rounds", (10.0, 1000.0), fixed, plotted=True)


def _modules_that_run(job):
    """Return the modules of the library whose functions are called while ``job`` runs."""
    seen = set()

    def note(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("shuffledp."):
            seen.add(name)

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", accountants.names())
def test_all_code_that_a_curve_runs_is_in_its_digest(tmp_path, name):
    curve = _curve(name)

    def job():
        entry = accountants.get(name)
        columns = evaluate(entry, variable="rounds", values=curve.values, fixed=dict(curve.fixed))
        tables.write_table(tmp_path / "a.csv", columns)

    ran = _modules_that_run(job)
    assert accountants.get(name).compute.__module__ in ran
    assert ran <= set(digest.modules_behind(curve.product("results").modules))


def _papers_behind(curve):
    """Return the citation keys that modules behind a curve are named after."""
    behind = digest.modules_behind(curve.product("results").modules)
    return {part for name in behind for part in name.split(".") if re.fullmatch(r"[a-z]+\d{4}[a-z]*", part)}


@pytest.mark.parametrize("name", accountants.names())
def test_a_curve_depends_on_no_paper_that_it_does_not_cite(name):
    cited = {key.strip() for key in accountants.get(name).citation.split(",")}
    assert _papers_behind(_curve(name)) <= cited


def test_a_curve_depends_on_the_papers_whose_theorems_it_uses():
    """So the test above is of something."""
    assert _papers_behind(_curve("girgis2021-upper")) == {"girgis2021"}
    assert _papers_behind(_curve("girgis2021ccs-wang2019")) == {"girgis2021ccs", "wang2019"}
    assert _papers_behind(_curve("feldman2021-strong")) == {"feldman2021"}


MADE_FROM_RESULTS = {
    "figure": lambda settings, root: settings.product(settings.of("bounds")[0]),
    "gallery": lambda settings, root: settings.gallery(),
    "claims": lambda settings, root: ledger_products.claims(settings),
    "page of claims": lambda settings, root: ledger_products.page(settings),
    "page of keys": lambda settings, root: documentation.key_page(),
}


@pytest.mark.parametrize("name", MADE_FROM_RESULTS)
def test_what_is_made_from_results_does_not_depend_on_how_they_are_computed(shipped, root, name):
    product = MADE_FROM_RESULTS[name]
    curves = [_curve(name).product("results") for name in accountants.names()]
    computing = {module for curve in curves for module in digest.modules_behind(curve.modules)}
    records = (
        f"records.{name}" for name in ("tables", "files", "digest", "product", "requests", "provenance")
    )
    shared = (*records, "rounding", "checks", "accountants.systems", "variables")
    computing -= {f"shuffledp.{name}" for name in shared}
    assert "shuffledp.rdp.wang2019" in computing
    made = product(shipped, root)
    if name == "claims":  # some evaluate a theorem themselves, and none an accountant
        computing = {module for module in computing if module.startswith("shuffledp.accountants.")}
    assert not computing & set(digest.modules_behind(made.modules, made.without))


def test_every_product_names_modules_that_exist(shipped, root):
    """A name that is no module would give a digest that never changes."""
    products = [make(shipped, root) for make in MADE_FROM_RESULTS.values()]
    products += [curve.product("results") for curve in shipped.curves]
    for product in products:
        assert set(product.modules) <= set(digest.modules_behind(product.modules)), product.record


def _all_kinds(settings, study, root):
    """Every product of the configuration and of the study laid over it, as the workflow names them."""
    trainings = [run for one in settings.experiments for run in settings.trainings(one)]
    return {
        "curve": [curve.product("results") for curve in settings.curves],
        "quantity": [one.product("results") for figure in settings.of("quantities") for one in figure.curves],
        "training": trainings,
        "tuning": [tuning.product("results") for tuning in settings.tunings],
        "utility": [
            one.product("results")
            for figure in settings.of("accuracy", untrained=True)
            for one in figure.panels
        ],
        "simulation": [one.product("results") for one in settings.tables_of(Simulation)],
        **{
            f"figure of {kind}": [own.product(one) for own in (settings, study) for one in own.of(kind)]
            for kind in kinds()
        },
        "gallery": [settings.gallery()],
        "page of keys": [documentation.key_page()],
        "claims": [ledger_products.claims(settings)],
        "page of claims": [ledger_products.page(settings)],
        "report": [report_products.report(settings, trainings)],
        "training of a study": [run for _, run in study.sweep.trainings("results")],
        "curve of a study": [curve.product("results") for curve in study.sweep.curves],
        "table of a study": [study.sweep.frontier("results")],
    }


def test_every_product_is_rebuilt_from_its_request(shipped, root, in_root, tmp_path):
    study = config.load([root / f"config/{name}.yaml" for name in ("config", "sweep", "sweep-smoke")])
    kinds = _all_kinds(shipped, study, root)
    assert all(kinds.values())
    # of a training that takes check-ins, the checks of arguments do not count
    assert any(run.without for run in kinds["training"])
    for product in (product for products in kinds.values() for product in products):
        path = Path(requests.stage(product, tmp_path, current=False))
        asked = path.read_bytes()
        path.unlink()
        requests.stage(Product.from_request(json.loads(asked)), tmp_path, current=False)
        assert path.read_bytes() == asked, product.record


MODULES = ("shuffledp.records.tables", "shuffledp.pld.composition", "shuffledp.accountants.registry")


def kept(path, names=MODULES):
    """The digests of modules by way of a file."""
    digest.forget()
    with digest.kept(path):
        return [digest.code_digest((name,)) for name in names]


@pytest.fixture
def plain():
    digest.forget()
    yield [digest.code_digest((name,)) for name in MODULES]
    digest.forget()


def test_digests_are_the_same_by_way_of_a_file(plain, tmp_path, monkeypatch):
    path = tmp_path / "code.json"
    assert kept(path) == plain
    first = path.read_bytes()
    monkeypatch.setattr(digest, "_code", lambda *given: pytest.fail("what is kept is parsed again"))
    assert kept(path) == plain
    assert path.read_bytes() == first


def test_changed_code_is_parsed_and_kept_code_of_another_rule_is_not_used(package, tmp_path):
    path, name = tmp_path / "code.json", f"{package.name}.a"
    package.write("a", SOURCE)
    before = kept(path, [name])
    package.write("a", _edited(*CODE["number"]))
    after = kept(path, [name])
    assert after != before
    assert after == [package.digest("a")]
    content = json.loads(path.read_text())
    wrong = {key: ["nothing", []] for key in content["code"]}
    path.write_text(json.dumps({**content, "code": wrong}))
    assert kept(path, [name]) != after, "what is kept is taken at its word"
    path.write_text(json.dumps({"rule": "another", "code": wrong}))
    assert kept(path, [name]) == after


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b'{"rule": 1}', b"\xff"])
def test_a_file_that_holds_no_code_is_written_anew(plain, tmp_path, content):
    path = tmp_path / "code.json"
    path.write_bytes(content)
    assert kept(path) == plain
    assert json.loads(path.read_text())["code"]
