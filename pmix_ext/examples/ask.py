#!/usr/bin/env python3
"""ask.py SOCKET KEY - ask a server over the bare wire (PROTOCOL.md); pmix_tool servers shows
the sockets.  For instance: ask.py /run/user/1000/pmi2_server/host.4711.s pmix.qry.nsinfo"""
import socket, sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rwb")
def say(data): f.write(data); f.flush()
def ask(text):
    say(b"%6d%s" % (len(text), text.encode()))
    words = f.read(int(f.read(6))).decode()[:-1].replace(";;", "\0").split(";")
    return dict(w.replace("\0", ";").split("=", 1) for w in words)
say(b"cmd=init pmi_version=2 pmi_subversion=0\n"); f.readline()
ask("cmd=pmix-tool-connect;thrid=1;")
print(ask('cmd=pmix-query;thrid=2;queries=[{"keys":["%s"]}];' % sys.argv[2])["results"])
