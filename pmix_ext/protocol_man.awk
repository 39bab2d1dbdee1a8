# protocol_man.awk - PROTOCOL.md as the manual page pmix_ext-protocol(7), so that what is said of
# the wire is said once.  It knows what that page is made of: headings, paragraphs, lists, and
# text that is indented by four, which stays as it is.
#   awk -v version=VERSION -f protocol_man.awk PROTOCOL.md

function text(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s ~ /^[.']/ ? "\\&" s : s
}

# What was read last, a paragraph's line or a heading's words, when it is known which.
function flush()
{
    if (held != "")
        print text(held)
    held = ""
}

function set_mode(to)
{
    if (mode == "verbatim" && to != "verbatim")
        print ".fi\n.RE"
    if (mode != "verbatim" && to == "verbatim")
        print ".PP\n.RS 4\n.nf"
    mode = to
}

BEGIN {
    print ".TH PMIX_EXT\\-PROTOCOL 7 \"\" \"mpiexec_lite " version "\" \"Miscellanea\""
    print ".SH NAME\npmix_ext\\-protocol \\- the extended commands on the wire, PMI\\-2 and beyond"
}
/^===+$/ { held = ""; print ".SH DESCRIPTION"; next }
/^---+$/ { sub(/^/, ".SH ", held); print held; held = ""; mode = "heading"; next }
/^### /  { flush(); set_mode("heading"); print ".SS " text(substr($0, 5)); next }
/^$/     { flush(); blank = 1; next }
/^    /  {
    flush()
    set_mode("verbatim")
    if (blank && shown)
        print ""
    print text(substr($0, 5))
    shown = 1
    blank = 0
    next
}
{
    flush()
    set_mode("text")
    if (blank)
        print ".PP"
    shown = blank = 0
    held = $0
    gsub(/`/, "", held)
}
END {
    flush()
    set_mode("end")
    print ".SH SEE ALSO\n.BR pmix_tool (1),\n.BR pmi2_server (1),\n.BR libpmix_ext (3)"
}
