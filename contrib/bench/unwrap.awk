# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes one line of each that ucxri_info has broken into several: what belongs to the line above begins
# with the blanks of its first column.

NR > 1 && /^                 [^ ]/ {
    sub(/^ +/, " ")
    line = line $0
    next
}

NR > 1 {
    print line
}

{
    line = $0
}

END {
    if (NR > 0) {
        print line
    }
}
