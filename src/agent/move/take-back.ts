import {
  type AgentError,
  type BoxCommandPayload,
  type BoxCommandResult,
  type ProbeResult,
  type TakeBackStep,
  takeBackSaga,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { boxOfBegun, boxOfCommand, readFence, reportVersions, takeSwitchAway, waitForService, waitUntilStable } from '../boxes/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { watchfulServers } from '../rebuild/index.ts'
import { type EndedSaga, resultOrThrow, retry, runBoxSaga, type SagaActs } from '../saga/index.ts'
import type { MoveDeps } from './deps.ts'
import { bringToRest } from './rest.ts'

const kind = 'tenant-box.take_back'
type Payload = BoxCommandPayload<typeof kind>
type Ended = { result: BoxCommandResult<typeof kind> } | { failure: AgentError }
type Run = Readonly<{ deps: MoveDeps; context: CommandContext; payload: Payload; box: LocalBox }>

/**
 * The end of a hand-over that nobody took. The box runs here again, is proven behind its fence, and then opened. One that does not prove
 * healthy rests as before, and why is thrown.
 */
export const takeBack =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const ended = await deps.once<Ended>(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(deps, payload),
        perform: async (record) => {
          const box = await boxOfBegun(deps.boxes, payload)
          const acts = stepsOf({ deps, context, payload, box })
          const followed = await runBoxSaga(deps, { context, record, saga: takeBackSaga, acts, deadlineMs: null })
          return sumUp({ deps, context }, payload, followed)
        },
      },
    )
    return resultOrThrow(ended)
  }

async function admit({ boxes }: MoveDeps, payload: Payload): Promise<void> {
  const box = await boxOfCommand(boxes, payload, { handedOver: 'welcome' })
  if (!box.handedOver) throw problem('CONFLICT', `the box ${box.slug} was not handed over by this host: there is nothing to take back`)
}

/** `handedOver` is absent in what earlier agents wrote down. */
type Started = Readonly<{ holder: string | null; handedOver?: NonNullable<LocalBox['handedOver']> }>

const stepsOf = ({ deps, context, payload, box }: Run): SagaActs<TakeBackStep> => ({
  start: async ({ signal }) => {
    const { engine, servers } = deps
    await engine.up(box.project, ['postgres', 'minio'], signal)
    await waitForService(deps, { signal }, box, 'postgres', () => servers.databaseReady(box))
    await engine.up(box.project, ['synapse', 'edge'], signal)
    // The record forgets it with `keep`; whose fence is to be lifted must be known after that too.
    return { holder: box.handedOver?.holder ?? null, ...(box.handedOver ? { handedOver: box.handedOver } : {}) } satisfies Started
  },
  probe: ({ signal }) => {
    const servers = watchfulServers(deps.servers, deps.engine)
    const { consecutive } = payload.probe
    return waitUntilStable({ ...deps, servers }, box, {
      rule: payload.probe,
      signal,
      onProbe: ({ reason }, good) =>
        context.progress({ step: 'probe', detail: reason ?? `${good} of ${consecutive} good`, percent: (100 * good) / consecutive }),
    })
  },
  keep: () => {
    const { handedOver: _, ...owned } = box
    return deps.boxes.put(owned)
  },
  open: async ({ resultOf }) => {
    const { holder } = resultOf('start') as Started
    if ((await readFence(box.project))?.holder === holder) await takeSwitchAway(box.project)
  },
  rest: async ({ resultOf }) => {
    await bringToRest(deps, box, ['synapse', 'minio', 'postgres'])
    // `keep` may have written it, and failed over a disk that then said no: what rests as before can be taken back as before.
    const handedOver = box.handedOver ?? (resultOf('start') as Started | undefined)?.handedOver
    if (handedOver && !(await deps.boxes.find(box.slug))?.handedOver) await deps.boxes.put({ ...box, handedOver })
  },
})

async function sumUp(
  run: Pick<Run, 'deps' | 'context'>,
  { slug }: Payload,
  { outcome, facts, resultOf }: EndedSaga<TakeBackStep>,
): Promise<Ended> {
  const { deps } = run
  const box = await deps.boxes.find(slug)
  if ((outcome === 'committed' || outcome === 'unfinished') && box) {
    const error = outcome === 'committed' ? null : stillClosed(slug, facts.endError)
    // It is this host's by now: an engine that does not answer must not make a failure of it, for which another would be given the box.
    const report = await retry(run, `${slug} cannot be looked at`, () => reportVersions(deps, box))
    return { result: { report, probe: resultOf('probe') as ProbeResult, error } }
  }
  const { code, message } = facts.failure ?? { code: 'INTERNAL', message: 'it ended without a reason' }
  return { failure: { code, message: `${message}; ${slug} rests fenced and stopped as before` } }
}

const stillClosed = (slug: string, why: AgentError | null): AgentError => ({
  code: why?.code ?? 'INTERNAL',
  message: `${slug} runs here again and is proven, but could not be opened and rests fenced: ${why?.message ?? 'no reason was given'}; \`tenantry-agent box unfence ${slug}\` on its host opens it`,
})
