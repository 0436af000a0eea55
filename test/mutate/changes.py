# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""What can be changed in a line of C: a list of mutations for a source file.

It looks at tokens, not at a syntax tree: what it makes need not compile. Comments, strings,
preprocessor lines, declarations outside functions, and what only logs are left alone.
"""
import re

# Statements whose effect is a line in a log, a hint to the processor, or nothing at all
IGNORED = re.compile(r'\b(ri_trace|ri_log|ri_error|ri_warn|ri_info|ri_debug|ri_log_\w+|assert'
                     r'|static_assert|_Static_assert|ri_copy_prefetch|__builtin_prefetch'
                     r'|ri_ring_tx_prefetch|fprintf|printf)\s*\(')
WORD = r'[A-Za-z_]\w*'
NUMBER = re.compile(r'(?<![\w.])(\d+)([uUlL]*)(?![\w.])')
CONSTANT = re.compile(r'\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b')
DECLARED = re.compile(r'^\s*(const\s+|static\s+|volatile\s+|unsigned\s+|struct\s+|enum\s+|union\s+)*'
                      + WORD + r'[\s*]+\**' + WORD + r'(\[[^]]*\])?\s*(=|;|,)')


class Mutation:
    """One line of a file, changed."""

    def __init__(self, path, number, kind, old, new):
        self.path = path
        self.number = number
        self.kind = kind
        self.old = old
        self.new = new

    def __str__(self):
        return '%s:%d: %s: %s' % (self.path, self.number, self.kind, self.shown())

    def shown(self):
        return '%s  =>  %s' % (self.old.strip(), self.new.strip())

    def apply(self, lines):
        """The text of the file with this change in it."""
        lines = list(lines)
        assert lines[self.number - 1] == self.old
        lines[self.number - 1] = self.new
        return '\n'.join(lines) + '\n'


def blank(text):
    """The text with blanks in place of comments, strings and preprocessor lines."""
    def spaces(match):
        return re.sub(r'[^\n]', ' ', match.group(0))

    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', spaces, text,
                  flags=re.S)
    return re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$', spaces, text, flags=re.M)


def bodies(text):
    """For each line, whether it is inside a function, and not one that only logs."""
    inside, depth, function, before, result, ignored = False, 0, False, '', [], 0
    for line in text.split('\n'):
        inside = function and depth > 0
        if inside and ignored == 0 and IGNORED.search(line):
            ignored = 1
        result.append(inside and ignored == 0)
        if ignored and line.rstrip().endswith((';', '{', '}')):
            ignored = 0
        for char in line:
            if char == '{':
                if depth == 0:
                    function = before == ')'
                depth += 1
            elif char == '}':
                depth -= 1
                inside = inside and depth > 0
            if not char.isspace():
                before = char
        if depth == 0 and result[-1] and line.startswith('}'):
            result[-1] = False
    return result


def enumerators(texts):
    """A map of each enumerator to its neighbour in the enumeration, in all of these texts."""
    neighbours = {}
    for text in texts:
        for body in re.findall(r'\benum\b[^;{}()]*\{([^{}]*)\}', blank(text)):
            names = [name for name in re.findall(r'(?:^|,)\s*(' + WORD + ')', body)]
            for i, name in enumerate(names):
                if len(names) > 1:
                    neighbours[name] = names[i + 1] if i + 1 < len(names) else names[i - 1]
    return neighbours


def closing(code, at):
    """The place behind the bracket that closes the one at @a at, or -1 if this line has none."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in '([') - (code[i] in ')]')
        if depth == 0:
            return i + 1
    return -1


def opening(code, end):
    """The place of the bracket that the one before @a end closes, or -1."""
    depth = 0
    for i in range(end - 1, -1, -1):
        depth += (code[i] in ')]') - (code[i] in '([')
        if depth == 0:
            return i
    return -1


def operand_after(code, at):
    """The end of the operand of && or || that begins behind @a at, or -1."""
    match = re.compile(r'\s*[!*&~]*\s*').match(code, at)
    at = match.end()
    match = re.compile(WORD).match(code, at)
    end = match.end() if match else at
    while end < len(code):
        if code[end] in '([' and (end > at or code[end] == '('):
            end = closing(code, end)
            if end < 0:
                return -1
        else:
            match = re.compile(r'(->|\.)' + WORD).match(code, end)
            if not match:
                break
            end = match.end()
    return end if end > at else -1


def operand_before(code, end):
    """The place where the operand of && or || that ends before @a end begins, or -1."""
    end = len(code[:end].rstrip())
    at = end
    while at > 0:
        if code[at - 1] in ')]':
            at = opening(code, at)
            if at < 0:
                return -1
        else:
            match = re.search(r'(->|\.)?' + WORD + r'$', code[:at])
            if not match:
                break
            at = match.start()
            if not match.group(1):
                break
    at -= len(re.search(r'[!*~]*$', code[:at]).group(0))
    return at if at < end else -1


def of_line(line, code, previous, neighbours):
    """All changes of a line: tuples of kind, begin, end, replacement.

    @param code      The same line with its comments and strings blanked.
    @param previous  The line of code before it, blanked as well.
    """
    found = []

    def replace(kind, pattern, new):
        for match in re.finditer(pattern, code):
            text = new(match) if callable(new) else new
            if text is not None:
                found.append((kind, match.start(), match.end(), text))

    def operand(begin, end, operator):
        neutral = '1' if operator == '&&' else '0'
        found.append(('operand left out', begin, end, neutral))
        found.append(('operand decides', begin, end, '0' if neutral == '1' else '1'))

    # Relations
    for old, new in (('<=', '<'), ('>=', '>'), ('==', '!='), ('!=', '==')):
        replace('relation', r'(?<![<>=!])' + old + r'(?!=)', new)
    replace('relation', r'(?<= )<(?= )', '<=')
    replace('relation', r'(?<= )>(?= )', '>=')
    replace('relation', r'(?<= )<(?= )', '>=')
    replace('relation', r'(?<= )>(?= )', '<=')

    # Logic: and for or; one operand of two left out
    replace('logic', '&&', '||')
    replace('logic', r'\|\|', '&&')
    for match in re.finditer(r'&&|\|\|', code):
        end = operand_after(code, match.end())
        if end > 0:
            begin = match.end() + len(re.match(r'\s*', code[match.end():]).group(0))
            operand(begin, end, match.group(0))
        begin = operand_before(code, match.start())
        if begin >= 0:
            operand(begin, len(code[:match.start()].rstrip()), match.group(0))
    match = re.match(r'\s*(&&|\|\|)?\s*', code)
    if re.search(r'(&&|\|\|)\s*$', previous):
        end = operand_after(code, 0)
        if end > 0:
            operand(match.end(), end, previous.rstrip()[-2:])

    # Conditions
    for match in re.finditer(r'\b(if|while)\s*\(', code):
        end = closing(code, match.end() - 1)
        if end > 0 and not re.match(r'\s*;', code[end:]):
            inner = line[match.end():end - 1]
            found.append(('condition negated', match.end(), end - 1, '!(' + inner + ')'))
            if match.group(1) == 'if':
                found.append(('condition dropped', match.end(), end - 1, '1'))
                found.append(('condition dropped', match.end(), end - 1, '0'))
    replace('negation dropped', r'!(?=[\w(])', '')
    match = re.search(r'\?', code)
    if match and re.match(r'\s*return\b.*\?', code):
        begin = re.match(r'\s*return\s*', code).end()
        found.append(('condition negated', begin, match.start(),
                      '!(' + line[begin:match.start()].rstrip() + ') '))

    # Constants, but for sizes of arrays, and another true value in place of 1
    truth = re.match(r'\s*return 1;', code)
    sizes = DECLARED.match(code) and not code.lstrip().startswith('return')

    def number(match, more):
        value = int(match.group(1)) + more
        is_size = sizes and code[:match.start()].endswith('[')
        return None if is_size or value < 0 or (truth and value > 1) else str(value) + match.group(2)

    replace('constant', NUMBER, lambda match: number(match, 1))
    replace('constant', NUMBER, lambda match: number(match, -1))
    replace('enumerator', CONSTANT, lambda m: neighbours.get(m.group(0)))
    replace('status', r'\bUCS_OK\b', 'UCS_INPROGRESS')
    replace('status', r'\bUCS_INPROGRESS\b', 'UCS_OK')
    replace('flag left out', r'\s*(?<!\|)\|\s*[A-Z][A-Z0-9_]+\b', '')

    # Arithmetic
    replace('arithmetic', r'(?<=[\w)\]]) \+ ', ' - ')
    replace('arithmetic', r'(?<=[\w)\]]) - ', ' + ')
    replace('arithmetic', r'(?<=[\w)\]]) & ', ' | ')
    replace('arithmetic', r'(?<=[\w)\]]) \| ', ' & ')
    replace('arithmetic', r'(?<=[\w)\]]) << ', ' >> ')
    replace('arithmetic', r'(?<=[\w)\]]) >> ', ' << ')
    replace('arithmetic', r'(?<=[\w)\]]) \* (?=[\w(])', ' + ')
    replace('arithmetic', r' / ', ' * ')
    replace('arithmetic', r' % ', ' / ')
    replace('arithmetic', r'\+\+', '--')
    replace('arithmetic', r'--', '++')
    replace('arithmetic', r' \+= ', ' -= ')
    replace('arithmetic', r' -= ', ' += ')
    replace('arithmetic', r' \|= ', ' &= ')
    replace('arithmetic', r' &= ', ' |= ')
    replace('arithmetic', r'~(?=[\w(])', '')

    # Statements
    text = code.strip()
    whole = previous.rstrip()[-1:] in ';{})' or re.search(r'(\belse|:)\s*$', previous)
    if (whole and text.endswith(';') and text.count('(') == text.count(')') and text != ';'
            and not DECLARED.match(code.replace('return', ' ')) and not text.startswith('for')):
        begin = len(code) - len(code.lstrip())
        match = re.match(r'(if|while)\s*\(', text)
        if not match and not text.startswith(('}', 'else', 'case', 'default', 'do')):
            found.append(('statement left out', begin, len(code.rstrip()), ';'))

    # Two arguments that change places; whether their types fit, the compiler says
    for match in re.finditer(r'\b(' + WORD + r')\(', code):
        if match.group(1) in ('if', 'while', 'for', 'switch', 'return', 'sizeof'):
            continue
        end = closing(code, match.end() - 1)
        inner = code[match.end():end - 1] if end > 0 else ''
        if '(' not in inner:
            places = [m.end() for m in re.finditer(r'^|, ', inner)] + [len(inner) + 2]
            parts = [line[match.end() + begin:match.end() + behind - 2]
                     for begin, behind in zip(places, places[1:])]
            for i in range(len(parts) - 1):
                if parts[i] != parts[i + 1]:
                    new = parts[:i] + [parts[i + 1], parts[i]] + parts[i + 2:]
                    found.append(('arguments swapped', match.end(), end - 1, ', '.join(new)))
    return found


def of_file(path, text, neighbours):
    """All mutations of a file, as a list for each line that has any."""
    code = blank(text).split('\n')
    lines = text.split('\n')
    inside = bodies(blank(text))
    result, previous = [], ''
    for i, line in enumerate(code):
        if inside[i] and line.strip():
            seen, mutations = {lines[i]}, []
            for kind, begin, end, new in of_line(lines[i], line, previous, neighbours):
                changed = lines[i][:begin] + new + lines[i][end:]
                if changed not in seen:
                    seen.add(changed)
                    mutations.append(Mutation(path, i + 1, kind, lines[i], changed))
            if mutations:
                result.append(mutations)
        previous = line if line.strip() else previous
    return result


LISTED = re.compile(r'^\w+ +([\w/.-]+\.[ch]):(\d+): ([\w ]+): (.*)  =>  (.*) \(no test.*\)$')


NEAR = 40  # lines by which other changes may have moved it


def listed(words, mutations):
    """The mutation that a line of a former run's output is of, in the file as it is now, or None.

    @param words      What LISTED finds in the line.
    @param mutations  All of the file's. Where several lines are alike, it is the nearest one's, if
                      that is near enough.
    """
    _, number, kind, old, new = words
    same = [mutation for mutation in mutations
            if (mutation.kind, mutation.old.strip(), mutation.new.strip()) == (kind, old, new)
            and abs(mutation.number - int(number)) < NEAR]
    return min(same, key=lambda mutation: abs(mutation.number - int(number)), default=None)
