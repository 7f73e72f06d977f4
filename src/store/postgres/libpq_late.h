/* libpq, loaded when the first PostgreSQL store is opened: see os/late_library.h. */
#ifndef TS_STORE_POSTGRES_LIBPQ_LATE_H
#define TS_STORE_POSTGRES_LIBPQ_LATE_H

#include "store/contract/library.h"

#include <libpq-fe.h>

#define STORE_PQ_FUNCTIONS(X)                                                                                \
    X(PQclear)                                                                                               \
    X(PQcmdStatus)                                                                                           \
    X(PQcmdTuples)                                                                                           \
    X(PQconndefaults)                                                                                        \
    X(PQconnectPoll)                                                                                         \
    X(PQconnectStartParams)                                                                                  \
    X(PQconnectionNeedsPassword)                                                                             \
    X(PQconninfoFree)                                                                                        \
    X(PQconsumeInput)                                                                                        \
    X(PQenterPipelineMode)                                                                                   \
    X(PQerrorMessage)                                                                                        \
    X(PQescapeLiteral)                                                                                       \
    X(PQfinish)                                                                                              \
    X(PQflush)                                                                                               \
    X(PQfreemem)                                                                                             \
    X(PQgetResult)                                                                                           \
    X(PQgetisnull)                                                                                           \
    X(PQgetlength)                                                                                           \
    X(PQgetvalue)                                                                                            \
    X(PQisBusy)                                                                                              \
    X(PQnfields)                                                                                             \
    X(PQntuples)                                                                                             \
    X(PQpipelineSync)                                                                                        \
    X(PQresultErrorField)                                                                                    \
    X(PQresultStatus)                                                                                        \
    X(PQsendPrepare)                                                                                         \
    X(PQsendQueryParams)                                                                                     \
    X(PQsendQueryPrepared)                                                                                   \
    X(PQsetErrorVerbosity)                                                                                   \
    X(PQsetNoticeReceiver)                                                                                   \
    X(PQsetnonblocking)                                                                                      \
    X(PQsocket)                                                                                              \
    X(PQstatus)                                                                                              \
    X(PQtransactionStatus)

struct store__pq {
    STORE_PQ_FUNCTIONS(TS_LATE_MEMBER)
};

extern struct store__pq store__pq;
extern struct ts_late_library store__pq_library;

#define PQclear                   store__pq.PQclear
#define PQcmdStatus               store__pq.PQcmdStatus
#define PQcmdTuples               store__pq.PQcmdTuples
#define PQconndefaults            store__pq.PQconndefaults
#define PQconnectPoll             store__pq.PQconnectPoll
#define PQconnectStartParams      store__pq.PQconnectStartParams
#define PQconnectionNeedsPassword store__pq.PQconnectionNeedsPassword
#define PQconninfoFree            store__pq.PQconninfoFree
#define PQconsumeInput            store__pq.PQconsumeInput
#define PQenterPipelineMode       store__pq.PQenterPipelineMode
#define PQerrorMessage            store__pq.PQerrorMessage
#define PQescapeLiteral           store__pq.PQescapeLiteral
#define PQfinish                  store__pq.PQfinish
#define PQflush                   store__pq.PQflush
#define PQfreemem                 store__pq.PQfreemem
#define PQgetResult               store__pq.PQgetResult
#define PQgetisnull               store__pq.PQgetisnull
#define PQgetlength               store__pq.PQgetlength
#define PQgetvalue                store__pq.PQgetvalue
#define PQisBusy                  store__pq.PQisBusy
#define PQnfields                 store__pq.PQnfields
#define PQntuples                 store__pq.PQntuples
#define PQpipelineSync            store__pq.PQpipelineSync
#define PQresultErrorField        store__pq.PQresultErrorField
#define PQresultStatus            store__pq.PQresultStatus
#define PQsendPrepare             store__pq.PQsendPrepare
#define PQsendQueryParams         store__pq.PQsendQueryParams
#define PQsendQueryPrepared       store__pq.PQsendQueryPrepared
#define PQsetErrorVerbosity       store__pq.PQsetErrorVerbosity
#define PQsetNoticeReceiver       store__pq.PQsetNoticeReceiver
#define PQsetnonblocking          store__pq.PQsetnonblocking
#define PQsocket                  store__pq.PQsocket
#define PQstatus                  store__pq.PQstatus
#define PQtransactionStatus       store__pq.PQtransactionStatus

#endif
