import { plural, problem } from '../../core/kit/index.ts'
import { canRetry, hasEnded, type OperatorRun } from '../../core/runs/index.ts'
import { assertConfirmedOf, type Context, clean, momentOf } from '../kit/index.ts'

export type Filter = Readonly<{
  status?: 'running' | 'waiting' | 'completed' | 'failed' | undefined
  board?: string | undefined
  element?: string | undefined
  olderThan?: string | undefined
}>

/** Throws USAGE. */
export const filterOf = ({ clock }: Pick<Context, 'clock'>, { status, board, element, olderThan }: Filter) => ({
  ...(status === undefined ? {} : { status }),
  ...(board === undefined ? {} : { board }),
  ...(element === undefined ? {} : { element }),
  ...(olderThan === undefined ? {} : { startedBefore: momentOf(olderThan, clock.now(), { option: '--older-than', isPast: true }) }),
})

type Verb = 'cancel' | 'retry'
/** `isMoved`: the runs continue with another version of their board, whatever failed. */
type Named = Filter & Readonly<{ runs?: readonly string[]; tenant: string; isMoved?: boolean }>

/** Runs named by id, or all that match a filter, after a confirmation. Throws USAGE for neither or both. */
export async function chooseRuns(context: Context, { runs: ids = [], tenant: slug, isMoved = false, ...filter }: Named, verb: Verb) {
  const body = filterOf(context, filter)
  const hasFilter = Object.keys(body).length > 0
  if (ids.length > 0 === hasFilter) throw problem('USAGE', `pass run ids, or a filter such as --status failed, to ${verb} runs`)
  const isAsked = context.ask.interactive && !context.yes
  const which = !hasFilter
    ? plural(ids.length, 'run')
    : isAsked
      ? await matchingText(context, { slug, ...body }, { verb, isMoved })
      : 'all matching runs'
  const question = `${verb === 'cancel' ? 'Cancel' : 'Retry'} ${which} of ${clean(slug)}?`
  await assertConfirmedOf(context, question, () => Promise.all(ids.map((id) => context.api.runs.showTenantRun({ params: { slug, id } }))))
  return { params: { slug }, body: hasFilter ? body : { ids: [...ids] } }
}

type Asked = Readonly<{ verb: Verb; isMoved: boolean }>
type Search = Readonly<{ slug: string } & ReturnType<typeof filterOf>>

/** `the 3 unfinished runs of board Crisis`: the number and each filter, so that a person sees what is confirmed. */
async function matchingText({ api }: Pick<Context, 'api'>, { slug, ...filter }: Search, { verb, isMoved }: Asked): Promise<string> {
  const isMeant = (run: OperatorRun) => (verb === 'retry' && !isMoved ? run.failure !== null && canRetry(run.failure) : !hasEnded(run))
  const statuses = filter.status ? [filter.status] : verb === 'retry' ? (['failed'] as const) : (['running', 'waiting', 'failed'] as const)
  const pages = await Promise.all(
    statuses.map((status) => api.runs.listTenantRuns({ params: { slug }, query: { ...filter, status, limit: pageSize } })),
  )
  const found = pages.flatMap(({ runs }) => runs).filter(isMeant)
  const isMore = pages.some(({ nextCursor }) => nextCursor !== null)
  const state = filter.status ?? (verb === 'retry' ? 'failed' : 'unfinished')
  const runs = `${isMore ? `at least ${found.length}` : `the ${found.length}`} ${state} ${found.length === 1 ? 'run' : 'runs'}`
  const { board, element, startedBefore } = filter
  return [
    runs,
    board && `of board ${clean(found[0]?.boardName ?? board)}`,
    element && `at element ${clean(element)}`,
    startedBefore && `started before ${startedBefore.slice(0, 16).replace('T', ' ')} UTC`,
  ]
    .filter(Boolean)
    .join(' ')
}

const pageSize = 200
