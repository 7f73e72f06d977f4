/* Reads the request under `verify` of a rule, which asks the issuer whether a secret works. */
#ifndef TS_DETECT_REQUEST_READER_H
#define TS_DETECT_REQUEST_READER_H

#include "rule.h"
#include "yaml_reader.h"

/* Reads a request. Returns NULL if the node is NULL or has problems, which the reader has reported. Texts are
 * in the arena of the reader. */
const struct ts_rule_request *detect__request_read(struct detect_yaml *yaml, yaml_node_t *node);

#endif
