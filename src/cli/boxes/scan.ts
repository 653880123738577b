import type { BoxRow, ManifestRevision } from '../../core/boxes/index.ts'
import { isProblem, plural } from '../../core/kit/index.ts'
import { type Context, command, flag } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'
import { everyBox } from './every-box.ts'
import { scanView } from './scan.view.ts'

export type Asked = Readonly<{
  commands: readonly { slug: string; commandId: string }[]
  unreachable: readonly { slug: string; host: string }[]
}>

/** What the agents said, against the manifest. */
export type Scanned = Readonly<{
  manifest: ManifestRevision
  boxes: readonly BoxRow[]
  unreachable: Asked['unreachable']
  failed: readonly { slug: string; error: string }[]
}>

export const scan = command(
  'scan [slugs...]',
  'Ask the agents what runs, and compare it with the manifest',
  { wait: flag('--no-wait', 'do not wait for the agents') },
  async (context, { slugs, wait }): Promise<Asked | Scanned> => {
    const asked = await context.api.boxes.scanBoxes({ body: slugs && slugs.length > 0 ? { slugs: [...slugs] } : {} })
    return wait ? scanned(context, asked) : asked
  },
  scanView,
  { exit: (result) => (askedNobody(result) ? 6 : 0) },
)

/** All hosts are offline: what is known of their boxes is what was known before. */
export function askedNobody(result: Asked | Scanned): boolean {
  if ('commands' in result) return result.commands.length === 0 && result.unreachable.length > 0
  const away = new Set(result.unreachable.map(({ slug }) => slug))
  return away.size > 0 && result.boxes.every(({ slug }) => away.has(slug))
}

/** How many commands are waited for at once. */
const parallel = 8

async function scanned(context: Context, { commands, unreachable }: Asked): Promise<Scanned> {
  const failed = commands.length > 0 ? await awaitAll(context, commands) : []
  const [manifest, all] = await Promise.all([context.api.boxes.showManifest(), everyBox(context)])
  const wanted = new Set([...commands, ...unreachable].map(({ slug }) => slug))
  return { manifest, boxes: all.filter(({ slug }) => wanted.has(slug)), unreachable, failed }
}

async function awaitAll(context: Context, commands: Asked['commands']): Promise<Scanned['failed']> {
  const progress = await context.progress(`asking about ${plural(commands.length, 'box', 'boxes')}`)
  const failed: { slug: string; error: string }[] = []
  const waiting = [...commands]
  let answered = 0
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { slug, commandId } = next
      await awaitAnswer(context, commandId, slug).catch((error: unknown) => {
        if (!isProblem(error)) throw error
        failed.push({ slug, error: error.message })
      })
      answered += 1
      progress.update(`${answered} of ${plural(commands.length, 'box', 'boxes')} answered`)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker)).finally(() => progress.stop())
  return failed
}
