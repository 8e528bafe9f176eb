"""CUDA sources as C++ for the emulator: transform(text, name) returns what g++ compiles.

Kernels, launches, __shared__ variables, inline PTX, volatile loads and the names of NVIDIA's headers
change; lines keep their numbers.
"""
import re


class TransformError(Exception):
    """Something in a source that the emulator does not know."""


HEADERS = [  # of NVIDIA's: what stands in their place
    (r"cub/.*", "cub.hpp"),
    (r"thrust/.*", "thrust.hpp"),
    (r"cuda/std/(\w+)", r"\1"),
    (r"(cuda_runtime|cuda_pipeline)\.h", r"\1.hpp"),
]
CLOSING = {"(": ")", "[": "]", "{": "}"}
OPENING = {close: opening for opening, close in CLOSING.items()}
PTX_TYPES = {
    "f32": "float", "f64": "double",
    "s8": "signed char", "u8": "unsigned char", "b8": "unsigned char",
    "s16": "short", "u16": "unsigned short", "b16": "unsigned short",
    "s32": "int", "u32": "unsigned", "b32": "unsigned",
    "s64": "long long", "u64": "unsigned long long", "b64": "unsigned long long",
}


def end_of_quoted(text, begin):
    """The place behind the string or character that begins there."""
    at = begin + 1
    while text[at] != text[begin]:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def end_of_found(text, what, begin):
    at = text.find(what, begin)
    return len(text) if at < 0 else at + len(what)


def blank(text):
    """Comments, and what is inside of strings and characters, as spaces; of the same length."""
    out = list(text)

    def wipe(begin, end):
        for at in range(begin, end):
            if out[at] != "\n":
                out[at] = " "

    at = 0
    while at < len(text):
        end = at + 1
        if text.startswith("//", at):
            end = end_of_found(text, "\n", at)
            wipe(at, end)
        elif text.startswith("/*", at):
            end = end_of_found(text, "*/", at + 2)
            wipe(at, end)
        elif text.startswith('R"', at):
            mark = re.compile(r'R"([^(]*)\(').match(text, at).group(1)
            end = end_of_found(text, f'){mark}"', at)
            wipe(at, end)
        elif text[at] == '"':
            end = end_of_quoted(text, at)
            wipe(at + 1, end - 1)
        elif text[at] == "'" and not re.match(r"\w", text[at - 1]):  # 1'000 is a number
            end = end_of_quoted(text, at)
            wipe(at, end)
        at = end
    return "".join(out)


def matching(code, begin):
    """The place of the bracket that closes the one there."""
    depth = 0
    for at in range(begin, len(code)):
        if code[at] == code[begin]:
            depth += 1
        elif code[at] == CLOSING[code[begin]]:
            depth -= 1
            if depth == 0:
                return at
    raise TransformError(f"unmatched {code[begin]}")


def matching_back(code, end):
    """The place of the bracket, < too, that opens the one there."""
    at = end - 1
    opening = OPENING.get(code[end], "<")
    while at >= 0 and code[at] != opening:
        if code[at] in OPENING or (opening == "<" and code[at] == ">" and code[at - 1] != "-"):
            at = matching_back(code, at)
        at -= 1
    if at < 0:
        raise TransformError(f"unmatched {code[end]}")
    return at


def split_outside(text, separator):
    """Ranges between separators that no bracket holds. `::` separates nothing."""
    ranges, depth, angle, begin = [], 0, 0, 0
    for at, c in enumerate(text):
        if c in CLOSING:
            depth += 1
        elif c in OPENING:
            depth -= 1
        elif c == "<" and depth == 0:
            angle += 1
        elif c == ">" and depth == 0 and text[at - 1] != "-":
            angle = max(0, angle - 1)
        elif c == separator and depth == 0 and angle == 0 and ":" not in (text[at - 1 : at], text[at + 1 : at + 2]):
            ranges.append((begin, at))
            begin = at + 1
    return ranges + [(begin, len(text))]


def skip_spaces(code, at):
    while at < len(code) and code[at].isspace():
        at += 1
    return at


def skip_spaces_back(code, at):
    while code[at].isspace():
        at -= 1
    return at


def one_line(text):
    return " ".join(text.split())


def ptx_load(instruction, operands):
    """C++ of a load, or None. Relaxed, acquiring and volatile ones let other threads in."""
    m = re.fullmatch(r"ld((?:\.[\w:]+)*?)(?:\.v\d)?\.([subf]\d+) (\{[^}]*\}|%\d), \[%(\d)(?:\+(\d+))?\]", instruction)
    if not m:
        return None
    modifiers, kind, targets, pointer, offset = m.groups()
    waits = re.search("relaxed|acquire|volatile", modifiers)
    out = ""
    for k, register in enumerate(re.findall(r"%(\d)", targets)):
        target = operands[int(register)]
        place = (
            f"reinterpret_cast<const {PTX_TYPES[kind]}*>"
            f"(reinterpret_cast<const char*>({operands[int(pointer)]}) + {offset or 0}) + {k}"
        )
        value = f"emu::spin_load({place})" if waits else f"*({place})"
        out += f"{target} = static_cast<std::remove_cvref_t<decltype({target})>>({value}); "
    return out


def ptx_store(instruction, operands):
    """C++ of a store, or None."""
    m = re.fullmatch(r"st(?:\.[\w:]+)*?(?:\.v\d)?\.([subf]\d+) \[%(\d)(?:\+(\d+))?\], (\{[^}]*\}|%\d)", instruction)
    if not m:
        return None
    kind, pointer, offset, sources = m.groups()
    kind = PTX_TYPES[kind]
    out = ""
    for k, register in enumerate(re.findall(r"%(\d)", sources)):
        place = f"reinterpret_cast<{kind}*>(reinterpret_cast<char*>({operands[int(pointer)]}) + {offset or 0}) + {k}"
        out += f"emu::release_store<{kind}>({place}, static_cast<{kind}>({operands[int(register)]})); "
    return out


def ptx(text, operands):
    """C++ for the few instructions that are known: loads and stores, under a predicate or not."""
    predicate = None
    out = "{ "
    for instruction in one_line(text).strip("{} ").split(";"):
        instruction = instruction.strip()
        if not instruction or re.fullmatch(r"\.reg \.pred \w+", instruction):
            continue
        m = re.fullmatch(r"setp\.ne\.[su]32 \w+, %(\d), 0", instruction)
        if m:
            predicate = operands[int(m.group(1))]
            continue
        m = re.match(r"@\w+ ", instruction)
        if m:
            out += f"if ({predicate}) "
            instruction = instruction[m.end() :]
        moved = ptx_load(instruction, operands) or ptx_store(instruction, operands)
        if moved is None:
            raise TransformError(f"PTX that the emulator does not know: {instruction}")
        out += "{ " + moved + "} "
    return out + "}"


class Source:
    """A text and the changes to it. `code` is the text without comments and strings."""

    def __init__(self, text):
        self.text = text
        self.code = blank(text)
        self.edits = []

    def replace(self, begin, end, new):
        """Lines that go are kept as empty ones."""
        lost = self.text.count("\n", begin, end) - new.count("\n")
        self.edits.append((begin, end, new + "\n" * lost))

    def result(self):
        out, at = "", 0
        for begin, end, new in sorted(self.edits, key=lambda edit: edit[:2]):
            if begin < at:
                raise TransformError("overlapping changes")
            out += self.text[at:begin] + new
            at = end
        return out + self.text[at:]


def change_header(source, found):
    for pattern, ours in HEADERS:
        m = re.fullmatch(pattern, found.group(1))
        if m:
            source.replace(found.start(1), found.end(1), m.expand(ours))
            return


def change_kernel(source, found):
    """A kernel's body becomes a closure: a call of the kernel runs what was configured just before."""
    code, at, bounds = source.code, found.end(), "1024"
    while True:
        m = re.compile(r"[^;{(]*?\b__launch_bounds__\s*\(").match(code, at)
        if not m:
            break
        at = matching(code, m.end() - 1) + 1
        inside = source.text[m.end() : at - 1]
        begin, end = split_outside(inside, ",")[0]
        bounds = one_line(inside[begin:end])
    parameters = re.compile(r"[^;{(]*\(").match(code, at)
    if not parameters:
        raise TransformError("what follows __global__?")
    at = skip_spaces(code, matching(code, parameters.end() - 1) + 1)
    constraint = re.compile(r"requires\b[^{;]*").match(code, at)
    if constraint:
        at = constraint.end()
    if code[at] != "{":
        return  # a declaration
    close = matching(code, at)
    source.replace(at, at + 1, f"{{ emu::kernel(__PRETTY_FUNCTION__, int({bounds}), [=]() mutable {{")
    source.replace(close, close + 1, "}); }")


def change_launch(source, found):
    """f<<<grid, block>>>(x) becomes (emu::configure(grid, block), f(x))."""
    code, at = source.code, found.end()
    while not code.startswith(">>>", at):
        at = (matching(code, at) if code[at] in CLOSING else at) + 1
    arguments = skip_spaces(code, at + 3)
    if code[arguments] != "(":
        raise TransformError("a launch without arguments")
    close = matching(code, arguments)
    name = skip_spaces_back(code, found.start() - 1)
    if code[name] == ">":
        name = skip_spaces_back(code, matching_back(code, name) - 1)
    while re.match(r"[\w:.]", code[name]):
        name -= 1
    source.replace(name + 1, name + 1, f"(emu::configure({one_line(code[found.end():at])}), ")
    source.replace(found.start(), at + 3, "")
    source.replace(close + 1, close + 1, ")")


def change_shared(source, found):
    """A __shared__ variable becomes a reference to the block's memory for that declaration."""
    end = source.code.index(";", found.end())
    declaration = one_line(source.code[found.end() : end])
    declaration = re.sub(r"\b(__align__|alignas)\s*\([^)]*\)", "", declaration).strip()
    if found.group(1):
        m = re.fullmatch(r"(.*?)\s*\b(\w+)\s*\[\s*\]", declaration)
        if not m:
            raise TransformError(f"extern __shared__ {declaration}")
        kind, name = m.groups()
        source.replace(found.start(), end, f"{kind}* const {name} = emu::dynamic_shared<{kind}>()")
        return
    kind, out = None, []
    for begin, stop in split_outside(declaration, ","):
        m = re.fullmatch(r"(.*?)\s*\b(\w+)\s*((?:\[.*\])?)", declaration[begin:stop].strip())
        if not m:
            raise TransformError(f"__shared__ {declaration}")
        kind = kind or m.group(1)
        slot = f"slot_of_{m.group(2)}"
        out.append(f"static emu::slot {slot}; auto& {m.group(2)} = emu::shared<{kind}{m.group(3)}>({slot})")
    source.replace(found.start(), end, "; ".join(out))


def change_ptx(source, found):
    close = matching(source.code, found.end() - 1)
    code, text = source.code[found.end() : close], source.text[found.end() : close]
    sections = split_outside(code, ":")
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text[slice(*sections[0])])
    instructions = re.sub(r"\\[nt]", " ", "".join(strings))
    operands = []
    for begin, end in sections[1:3]:
        for operand in re.finditer(r'"\s*"\s*\(', code[begin:end]):
            first = begin + operand.end()
            operands.append(f"({one_line(text[first:matching(code, first - 1)])})")
    semicolon = skip_spaces(source.code, close + 1)
    source.replace(found.start(), semicolon + 1, ptx(instructions, operands))


def change_volatile_load(source, found):
    """Who reads such a place may wait for another thread, which must then be let in."""
    close = matching(source.code, found.end() - 1)
    if re.match(r"\s*=[^=]", source.code[close + 1 :]):
        return  # a store
    source.replace(found.start(), found.start() + 1, f"emu::spin_load(const_cast<const {found.group(1)}*>(")
    source.replace(close + 1, close + 1, "))")


def change_cooperative_launch(source, found):
    """The kernel keeps its type, from which its arguments are known."""
    source.replace(found.start(1), found.end(1), "(")


CHANGES = [
    (r"#\s*include\s*<([^>\n]+)>", change_header),
    (r"\b__global__\b", change_kernel),
    (r"<<<", change_launch),
    (r"(\bextern\s+)?\b__shared__\b", change_shared),
    (r"\basm\b\s*(?:volatile\s*)?\(", change_ptx),
    (r"\*\s*static_cast\s*<\s*volatile\s+([^<>*]+?)\s*\*\s*>\s*\(", change_volatile_load),
    (
        r"\bcudaLaunchCooperativeKernel\s*\(\s*(reinterpret_cast\s*<\s*(?:const\s+)?void\s*\*\s*>\s*\()",
        change_cooperative_launch,
    ),
]


def transform(text, name):
    """The C++ of a CUDA source, which diagnostics call by that name."""
    source = Source(text)
    for pattern, change in CHANGES:
        for found in re.finditer(pattern, source.code):
            try:
                change(source, found)
            except TransformError as error:
                line = text.count("\n", 0, found.start()) + 1
                raise TransformError(f"{name}:{line}: {error}") from None
    return f'#line 1 "{name}"\n' + source.result()
