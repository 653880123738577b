import pLimit from 'p-limit'
import type { BoxRow, Component, ManifestRevision } from '../../core/boxes/index.ts'
import { isProblem, plural } from '../../core/kit/index.ts'
import { type Column, type Context, clean, command, flag, type Style, sections, table } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'
import { severityText, severityTint } from './boxes.view.ts'
import { listAllBoxes } from './show.ts'

type Asked = Readonly<{
  commands: readonly { slug: string; commandId: string }[]
  unreachable: readonly { slug: string; host: string }[]
}>

/** The running versions, compared with the manifest. */
type Scanned = Readonly<{
  manifest: ManifestRevision
  boxes: readonly BoxRow[]
  unreachable: Asked['unreachable']
  failed: readonly { slug: string; error: string }[]
}>

export const scan = command('scan [slugs...]', 'Read running versions and compare them with the manifest', {
  options: { wait: flag('--no-wait', 'do not wait for the agents') },
  run: async (context, { slugs, wait }): Promise<Asked | Scanned> => {
    const asked = await context.api.boxes.scanBoxes({ body: slugs && slugs.length > 0 ? { slugs: [...slugs] } : {} })
    return wait ? scanned(context, asked) : asked
  },
  view: scanView,
  exit: (result) => (isNoneReachable(result) ? 6 : 0),
})

/** True if all hosts are offline, so that only earlier reports are shown. */
function isNoneReachable(result: Asked | Scanned): boolean {
  if ('commands' in result) return result.commands.length === 0 && result.unreachable.length > 0
  const away = new Set(result.unreachable.map(({ slug }) => slug))
  return away.size > 0 && result.boxes.every(({ slug }) => away.has(slug))
}

/** Number of concurrent waits. */
const parallel = 8

async function scanned(context: Context, { commands, unreachable }: Asked): Promise<Scanned> {
  const failed = commands.length > 0 ? await awaitAll(context, commands) : []
  const [manifest, all] = await Promise.all([context.api.boxes.showManifest(), listAllBoxes(context)])
  const scannedSlugs = new Set([...commands, ...unreachable].map(({ slug }) => slug))
  return { manifest, boxes: all.filter(({ slug }) => scannedSlugs.has(slug)), unreachable, failed }
}

async function awaitAll(context: Context, commands: Asked['commands']): Promise<Scanned['failed']> {
  const progress = await context.progress(`querying ${plural(commands.length, 'box', 'boxes')}`)
  const failed: { slug: string; error: string }[] = []
  let answered = 0
  const wait = async ({ slug, commandId }: (typeof commands)[number]) => {
    await awaitAnswer(context, { id: commandId, slug }).catch((error: unknown) => {
      if (!isProblem(error)) throw error
      failed.push({ slug, error: error.message })
    })
    answered += 1
    progress.update(`${answered} of ${plural(commands.length, 'box', 'boxes')} answered`)
  }
  await pLimit(parallel)
    .map(commands, wait)
    .finally(() => progress.stop())
  return failed
}

/** Drift per component, unreachable hosts, and the next command. */
function scanView(result: Scanned | Asked, style: Style): string {
  const away = awayLines(result, style)
  if ('commands' in result) {
    const { length } = result.commands
    return sections(length > 0 || away === '' ? `Scan of ${plural(length, 'box', 'boxes')} started. Result: tenantry boxes list` : '', away)
  }
  const { boxes, failed } = result
  if (boxes.length === 0) return 'No boxes. Create one: tenantry boxes provision --help'
  return sections(
    table(style, columns(result), boxes),
    away,
    failed.map(({ slug, error }) => style.paint.red(`${slug}: ${clean(error)}`)).join('\n'),
    summary(boxes),
  )
}

/** Each unreachable host with its skipped boxes and the fix. */
function awayLines(result: Scanned | Asked, { paint }: Style): string {
  const hosts = new Map<string, string[]>()
  for (const { slug, host } of result.unreachable) {
    const slugs = hosts.get(host)
    if (slugs) slugs.push(slug)
    else hosts.set(host, [slug])
  }
  if (hosts.size === 0) return ''
  const lines = [...hosts].map(([host, slugs]) => {
    const name = clean(host)
    return `${paint.yellow(`${name} is offline: ${skipped(slugs)}.`)} fix: \`tenantry hosts show ${name}\`, and on the host \`tenantry-agent doctor\``
  })
  const none = isNoneReachable(result) ? ['No box is reachable; the versions are from earlier reports.'] : []
  return [...none, ...lines, 'When they are online again: tenantry boxes scan'].join('\n')
}

const maxNamed = 5

function skipped(slugs: readonly string[]): string {
  const more = slugs.length > maxNamed ? ` and ${slugs.length - maxNamed} more` : ''
  return `${plural(slugs.length, 'box', 'boxes')} skipped (${slugs.slice(0, maxNamed).join(', ')}${more})`
}

const columns = (scanned: Scanned): Column<BoxRow>[] => [
  { title: 'BOX', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'DRIFT', value: ({ severity }) => severityText(severity), priority: 1, paint: ({ severity }) => severityTint[severity] },
  component('SYNAPSE', 'synapse', scanned),
  component('POSTGRES', 'postgres', scanned),
  component('MINIO', 'minio', scanned),
  component('MIGRATIONS', 'migrationsHead', scanned),
  { title: 'HOST', value: ({ host }) => host, priority: 4, minWidth: 8 },
]

/** A drifted component has a high priority; one in sync is the first to be hidden. */
const component = (title: string, name: Component, { boxes, manifest: { manifest } }: Scanned): Column<BoxRow> => ({
  title,
  value: ({ installed, tier, components }) => {
    const severity = components[name]
    const target = manifest.tiers[tier][name]
    return severity === 'none' || installed[name] === target
      ? installed[name]
      : `${installed[name]} → ${target}${severity ? ` (${severity})` : ''}`
  },
  priority: boxes.some(({ components }) => components[name] && components[name] !== 'none') ? 1 : 4,
  minWidth: 10,
  paint: ({ components }) => (components[name] && components[name] !== 'none' ? severityTint[components[name]] : undefined),
})

function summary(boxes: readonly BoxRow[]): string {
  const drifted = boxes.filter(({ severity }) => severity === 'minor' || severity === 'major').length
  const unknown = boxes.filter(({ severity }) => severity === 'unknown').length
  if (drifted === 0 && unknown === 0) return `${plural(boxes.length, 'box is', 'boxes are')} in sync with the manifest.`
  const parts = [
    drifted > 0 && `${drifted} of ${plural(boxes.length, 'box', 'boxes')} drifted`,
    unknown > 0 && `${unknown} unknown`,
  ].filter(Boolean)
  return `${parts.join(', ')}.${drifted > 0 ? ' Preview a rollout: tenantry rollouts plan' : ''}`
}
