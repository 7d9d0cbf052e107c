#!/bin/sh
# synapse-git hook of agents 1
# What coding agents start before and after they use a tool. Written by `synapse-git agents install`.
# Where the program is gone it ends with 127, which stops no tool of any of them.

python=''
launch=''

if [ -x "$python" ] && [ -r "$launch" ]; then
	exec "$python" -I -S "$launch" tool "$@"
fi
echo "synapse-git is gone ($python), so nobody checks who else is editing. Install it again, then: synapse-git agents install $1" >&2
exit 127
