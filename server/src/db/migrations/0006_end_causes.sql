-- Whoever ends a cluster ends what waits there for its next attempt; the last one tells why there is no other.
grant update (cause) on command_attempt to headgate_account;
