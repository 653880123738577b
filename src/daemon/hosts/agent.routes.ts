import { agentContract } from '../../core/hosts/index.ts'
import type { AgentActor } from '../../core/kit/index.ts'
import { serveContract } from '../http/index.ts'
import { storeLines } from './command-lines.ts'
import { commandSecrets, storeOutputs, storeProgress, storeResult } from './command-results.ts'
import type { HostsDeps } from './deps.ts'
import { enrolHost } from './enrolment.ts'
import { assertCurrentInstance, hello } from './hello.ts'
import { receiveHeartbeat } from './leased-commands.ts'
import { nextCommand } from './next-command.ts'
import { rotateKey } from './rotate-key.ts'

/** The agent API. All calls but enrolment, hello and key rotation require the instance of the latest hello. */
export function agentRoutes(deps: HostsDeps) {
  const { db, boxes } = deps
  const known =
    <Call extends { actor: AgentActor }, Answer>(verb: (call: Call) => Promise<Answer>) =>
    async (call: Call): Promise<Answer> => {
      await assertCurrentInstance(deps, call.actor, 'refused')
      return verb(call)
    }
  return serveContract(agentContract, {
    enrolHost: ({ body }) => enrolHost(deps, body),
    hello: ({ actor, body }) => hello(deps, actor, body),
    nextCommand: known(async ({ actor, body, signal }) => ({ command: await nextCommand(deps, { agent: actor, poll: body }, signal) })),
    heartbeat: known(({ actor, body }) => receiveHeartbeat(deps, actor, body)),
    rotateKey: async ({ actor, body }) => {
      // `tenantry-agent rotate-key` may run while no agent is connected.
      await assertCurrentInstance(deps, actor, 'unless-online')
      return rotateKey(deps, actor, body.publicKey)
    },
    postProgress: known(async ({ actor, params, body }) => {
      await storeProgress(deps, { agent: actor, held: { ...params, leaseToken: body.leaseToken } }, body.progress)
      return undefined
    }),
    postLines: known(async ({ actor, body }) => ({ states: await storeLines(deps, actor, body.batches) })),
    postResult: known(async ({ actor, params, body }) => ({
      status: await storeResult(deps, { agent: actor, held: { ...params, leaseToken: body.leaseToken } }, body.outcome),
    })),
    commandSecrets: known(({ actor, params, body }) => commandSecrets(deps, actor, { ...params, ...body })),
    postOutputs: known(async ({ actor, params, body }) => {
      await storeOutputs(deps, { agent: actor, held: { ...params, leaseToken: body.leaseToken } }, body.outputs)
      return undefined
    }),
    archives: known(async ({ actor, body }) => (await deps.archives?.(actor.hostId, body)) ?? { boxes: [], nextInMs: 300_000 }),
    boxMigrations: known(async () => ({ migrations: [...boxes.migrations] })),
    postReports: known(async ({ actor, body }) => {
      await db.transaction().execute((tx) => boxes.reportHandler(tx, actor.hostId, body.reports))
      return undefined
    }),
  })
}
