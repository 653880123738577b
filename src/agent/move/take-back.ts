import {
  type AgentError,
  type BoxCommandPayload,
  type BoxCommandResult,
  type ProbeResult,
  type TakeBackStep,
  takeBackSaga,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  boxOfCommand,
  boxOfStartedCommand,
  readFence,
  removeFenceFile,
  reportVersions,
  waitForService,
  waitUntilStable,
} from '../boxes/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { watchfulServers } from '../rebuild/index.ts'
import { type EndedCommand, type EndedSaga, resultOrThrow, retry, runBoxSaga, type SagaActs, withRemark } from '../saga/index.ts'
import { type MoveDeps, stopServices } from './fence-and-stop.ts'

const kind = 'tenant-box.take_back'
type Payload = BoxCommandPayload<typeof kind>
type Ended = EndedCommand<BoxCommandResult<typeof kind>>
type Run = Readonly<{ deps: MoveDeps; context: CommandContext; payload: Payload; box: LocalBox }>

/**
 * Takes back a box that was handed over and that no host took. It runs here again, is proven behind its fence, then opened. A box that does not
 * prove healthy is stopped behind its fence as before, and the reason is thrown.
 */
export const takeBack =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const ended = await deps.once<Ended>(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(deps, payload),
        perform: async (record) => {
          const box = await boxOfStartedCommand(deps.boxes, payload)
          const acts = actsOf({ deps, context, payload, box })
          const saga = await runBoxSaga(deps, { context, record, saga: takeBackSaga, acts, deadlineMs: null })
          return resultFrom({ deps, context }, payload, saga)
        },
      },
    )
    return resultOrThrow(ended)
  }

async function admit({ boxes }: MoveDeps, payload: Payload): Promise<void> {
  const box = await boxOfCommand(boxes, payload, { handedOver: 'welcome' })
  if (!box.handedOver) throw problem('CONFLICT', `the box ${box.slug} was not handed over by this host: there is nothing to take back`)
}

type Started = Readonly<{ holder: string | null; handedOver?: NonNullable<LocalBox['handedOver']> }>

const actsOf = ({ deps, context, payload, box }: Run): SagaActs<TakeBackStep> => ({
  start: async ({ signal }) => {
    const { engine, servers } = deps
    await engine.up(box.project, ['postgres', 'minio'], signal)
    await waitForService({ ...deps, signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
    await engine.up(box.project, ['synapse', 'edge'], signal)
    // `keep` removes the holder from the record; lifting the fence needs it after that.
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
    if ((await readFence(box.project))?.holder === holder) await removeFenceFile(box.project)
  },
  rest: async ({ resultOf }) => {
    await stopServices(deps, box, ['synapse', 'minio', 'postgres'])
    // `keep` may have written the record before it failed; the box must stay one that can be taken back.
    const handedOver = box.handedOver ?? (resultOf('start') as Started | undefined)?.handedOver
    if (handedOver && !(await deps.boxes.find(box.slug))?.handedOver) await deps.boxes.put({ ...box, handedOver })
  },
})

async function resultFrom(
  run: Pick<Run, 'deps' | 'context'>,
  { slug }: Payload,
  { outcome, facts, resultOf }: EndedSaga<TakeBackStep>,
): Promise<Ended> {
  const { deps } = run
  const box = await deps.boxes.find(slug)
  if ((outcome === 'committed' || outcome === 'unfinished') && box) {
    const error = outcome === 'committed' ? null : notOpened(slug, facts.endError)
    // This host owns the box by now: a failure here would make another host take it.
    const report = await retry(run, `the versions of ${slug} cannot be read`, () => reportVersions(deps, box))
    return { result: { report, probe: resultOf('probe') as ProbeResult, error } }
  }
  const { code, message }: AgentError = facts.failure ?? { code: 'INTERNAL', message: 'the take-back failed without a reason' }
  return { failure: { code, message: withRemark(message, `${slug} stays fenced and stopped as before`) } }
}

const notOpened = (slug: string, error: AgentError | null): AgentError => ({
  code: error?.code ?? 'INTERNAL',
  message: `${slug} runs here again and is healthy, but stays fenced because it could not be opened: ${error?.message ?? 'unknown reason'}. fix: \`tenantry-agent box unfence ${slug}\` on its host`,
})
