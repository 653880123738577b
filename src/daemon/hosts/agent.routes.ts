import { agentContract } from '../../core/hosts/index.ts'
import type { AgentActor } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import { commandSecrets, takeOutputs, takeProgress, takeResult } from './command-answers.ts'
import type { HostsDeps } from './deps.ts'
import { enrolHost } from './enrol-host.ts'
import { takeHeartbeat } from './heartbeat.ts'
import { hello, refuseSecondAgent } from './hello.ts'
import { nextCommand } from './next-command.ts'
import { rotateKey } from './rotate-key.ts'

/** What agents say. All but enrolment and hello is heard only from the agent that said hello last. */
export function agentRoutes(deps: HostsDeps): Served[] {
  const { db, boxes } = deps
  const known =
    <Call extends { actor: AgentActor }, Answer>(verb: (call: Call) => Promise<Answer>) =>
    async (call: Call): Promise<Answer> => {
      await refuseSecondAgent(deps, call.actor, 'refused')
      return verb(call)
    }
  return [
    serve(agentContract.enrolHost, ({ body }) => enrolHost(deps, body)),
    serve(agentContract.hello, ({ actor, body }) => hello(deps, actor, body)),
    serve(
      agentContract.nextCommand,
      known(async ({ actor, body, signal }) => ({ command: await nextCommand(deps, actor, body, signal) })),
    ),
    serve(
      agentContract.heartbeat,
      known(({ actor, body }) => takeHeartbeat(deps, actor, body)),
    ),
    serve(agentContract.rotateKey, async ({ actor, body }) => {
      // As at hello, for `tenantry-agent rotate-key` may run while no agent does.
      await refuseSecondAgent(deps, actor, 'welcome')
      return rotateKey(deps, actor, body.publicKey)
    }),
    serve(
      agentContract.postProgress,
      known(async ({ actor, params, body }) => {
        await takeProgress(deps, actor, { ...params, leaseToken: body.leaseToken }, body.progress)
        return undefined
      }),
    ),
    serve(
      agentContract.postResult,
      known(async ({ actor, params, body }) => ({
        status: await takeResult(deps, actor, { ...params, leaseToken: body.leaseToken }, body.outcome),
      })),
    ),
    serve(
      agentContract.commandSecrets,
      known(({ actor, params, body }) => commandSecrets(deps, actor, { ...params, ...body })),
    ),
    serve(
      agentContract.postOutputs,
      known(async ({ actor, params, body }) => {
        await takeOutputs(deps, actor, { ...params, leaseToken: body.leaseToken }, body.outputs)
        return undefined
      }),
    ),
    serve(
      agentContract.boxMigrations,
      known(async () => ({ migrations: [...boxes.migrations] })),
    ),
    serve(
      agentContract.postReports,
      known(async ({ actor, body }) => {
        await db.transaction().execute((tx) => boxes.reportHandler(tx, actor.hostId, body.reports))
        return undefined
      }),
    ),
  ]
}
