import { agentContract } from '../../core/hosts/index.ts'
import type { AgentActor } from '../../core/kit/index.ts'
import { serveContract } from '../http/index.ts'
import { commandSecrets, takeOutputs, takeProgress, takeResult } from './command-answers.ts'
import type { HostsDeps } from './deps.ts'
import { enrolHost } from './enrol-host.ts'
import { takeHeartbeat } from './heartbeat.ts'
import { hello, refuseSecondAgent } from './hello.ts'
import { nextCommand } from './next-command.ts'
import { rotateKey } from './rotate-key.ts'

/** What agents say. All but enrolment and hello is heard only from the agent that said hello last. */
export function agentRoutes(deps: HostsDeps) {
  const { db, boxes } = deps
  const known =
    <Call extends { actor: AgentActor }, Answer>(verb: (call: Call) => Promise<Answer>) =>
    async (call: Call): Promise<Answer> => {
      await refuseSecondAgent(deps, call.actor, 'refused')
      return verb(call)
    }
  return serveContract(agentContract, {
    enrolHost: ({ body }) => enrolHost(deps, body),
    hello: ({ actor, body }) => hello(deps, actor, body),
    nextCommand: known(async ({ actor, body, signal }) => ({ command: await nextCommand(deps, actor, body, signal) })),
    heartbeat: known(({ actor, body }) => takeHeartbeat(deps, actor, body)),
    rotateKey: async ({ actor, body }) => {
      // As at hello, for `tenantry-agent rotate-key` may run while no agent does.
      await refuseSecondAgent(deps, actor, 'welcome')
      return rotateKey(deps, actor, body.publicKey)
    },
    postProgress: known(async ({ actor, params, body }) => {
      await takeProgress(deps, actor, { ...params, leaseToken: body.leaseToken }, body.progress)
      return undefined
    }),
    postResult: known(async ({ actor, params, body }) => ({
      status: await takeResult(deps, actor, { ...params, leaseToken: body.leaseToken }, body.outcome),
    })),
    commandSecrets: known(({ actor, params, body }) => commandSecrets(deps, actor, { ...params, ...body })),
    postOutputs: known(async ({ actor, params, body }) => {
      await takeOutputs(deps, actor, { ...params, leaseToken: body.leaseToken }, body.outputs)
      return undefined
    }),
    boxMigrations: known(async () => ({ migrations: [...boxes.migrations] })),
    postReports: known(async ({ actor, body }) => {
      await db.transaction().execute((tx) => boxes.reportHandler(tx, actor.hostId, body.reports))
      return undefined
    }),
  })
}
