import pLimit from 'p-limit'
import { isProblem, plural, problem } from '../../core/kit/index.ts'
import { awaitCommand, listAllBoxes } from '../boxes/index.ts'
import { assertConfirmed, type Context, clean, command, flag, type Style, sections } from '../kit/index.ts'

type Started = Readonly<{ slug: string; commandId: string }>
type Failed = Readonly<{ slug: string; error: string }>

/** The outcome per box; `taken` is empty without `wait`. */
type Taken = Readonly<{ asked: readonly Started[]; taken: readonly string[]; failed: readonly Failed[] }>

export const take = command('take [slugs...]', 'Take snapshots of boxes; they stay online', {
  options: { all: flag('--all', 'all managed boxes'), wait: flag('--wait', 'wait for the agents') },
  run: async (context, { slugs = [], all, wait }): Promise<Taken> => {
    if (all === slugs.length > 0) throw problem('USAGE', 'no boxes named. fix: name boxes, or pass --all')
    const selected = all ? await managedBoxes(context) : slugs
    if (all) await assertConfirmed(context.ask, `Take a snapshot of ${plural(selected.length, 'box', 'boxes')} now?`)
    const { asked, failed } = await startAll(context, selected)
    if (!wait) return { asked, taken: [], failed }
    return { asked, ...(await awaitAll(context, asked, failed)) }
  },
  view: takenView,
  exit: ({ failed }) => (failed.length > 0 ? 1 : 0),
  examples: ['take anna-schule --wait', 'take --all --yes'],
})

const managedBoxes = async (context: Context): Promise<string[]> =>
  (await listAllBoxes(context)).filter(({ live, managed }) => live && managed).map(({ slug }) => slug)

/** A refused single box is the command's own error; of several boxes the others continue. */
async function startAll({ api }: Context, slugs: readonly string[]): Promise<{ asked: Started[]; failed: Failed[] }> {
  const asked: Started[] = []
  const failed: Failed[] = []
  for (const slug of slugs) {
    try {
      asked.push({ slug, ...(await api.snapshots.takeSnapshot({ params: { slug } })) })
    } catch (error) {
      if (!isProblem(error) || slugs.length === 1) throw error
      failed.push({ slug, error: error.message })
    }
  }
  return { asked, failed }
}

/** Number of concurrent waits. */
const parallel = 8

async function awaitAll(context: Context, asked: readonly Started[], refused: readonly Failed[]): Promise<Omit<Taken, 'asked'>> {
  const progress = await context.progress(`waiting for ${plural(asked.length, 'snapshot')}`)
  const [taken, failed] = [[] as string[], [...refused]]
  const wait = async ({ slug, commandId }: (typeof asked)[number]) => {
    try {
      await awaitCommand(context, commandId, (line) => progress.update(`${slug}: ${line}`))
      taken.push(slug)
    } catch (error) {
      if (!isProblem(error) || asked.length + refused.length === 1) throw error
      failed.push({ slug, error: error.message })
    }
    progress.update(`${taken.length} of ${plural(asked.length, 'snapshot')} taken`)
  }
  await pLimit(parallel)
    .map(asked, wait)
    .finally(() => progress.stop())
  return { taken, failed }
}

function takenView({ asked, taken, failed }: Taken, { paint }: Style): string {
  const failures = failed.map(({ slug, error }) => `${paint.red(slug)}: ${clean(error)}`).join('\n')
  return sections(failures, summary(asked, taken))
}

function summary(asked: Taken['asked'], taken: Taken['taken']): string {
  if (asked.length === 0) return ''
  const [only] = asked
  const see = asked.length === 1 && only ? `tenantry snapshots list --slug ${only.slug}` : 'tenantry snapshots list'
  if (taken.length > 0) return `${plural(taken.length, 'snapshot')} taken: ${see}`
  return `${plural(asked.length, 'snapshot')} started. Result: ${see}`
}
