import type { BoxRow, Component } from '../../core/boxes/index.ts'
import { plural } from '../../core/kit/index.ts'
import { type Column, clean, type Style, sections, table } from '../kit/index.ts'
import { severityText, severityTint } from './boxes.view.ts'
import { type Asked, askedNobody, type Scanned } from './scan.ts'

/** Drift per component, then what could not be asked, then what to type next. */
export function scanView(result: Scanned | Asked, style: Style): string {
  const away = awayLines(result, style)
  if ('commands' in result) {
    const { length } = result.commands
    return sections(length > 0 || away === '' ? `${plural(length, 'box is', 'boxes are')} being asked. See: tenantry boxes list` : '', away)
  }
  const { boxes, failed } = result
  if (boxes.length === 0) return 'No boxes yet. Make one: tenantry boxes provision --help'
  return sections(
    table(style, columns(result), boxes),
    away,
    failed.map(({ slug, error }) => style.paint.red(`${slug}: ${clean(error)}`)).join('\n'),
    summary(boxes),
  )
}

/** Each host that could not be asked with how many boxes were left out, and what to do about it. */
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
    return `${paint.yellow(`${name} is offline: ${leftOut(slugs)}.`)} See \`tenantry hosts show ${name}\`, and on the host \`tenantry-agent doctor\``
  })
  const none = askedNobody(result) ? ['No box could be asked: what is known of them is from before.'] : []
  return [...none, ...lines, 'Once they are heard again: tenantry boxes scan'].join('\n')
}

const mostNamed = 5

function leftOut(slugs: readonly string[]): string {
  const more = slugs.length > mostNamed ? ` and ${slugs.length - mostNamed} more` : ''
  return `${plural(slugs.length, 'box was', 'boxes were')} left out (${slugs.slice(0, mostNamed).join(', ')}${more})`
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

/** Where a component drifted it must be seen; where none did, it makes room first. */
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
  return `${parts.join(', ')}.${drifted > 0 ? ' See what a rollout would do: tenantry rollouts plan' : ''}`
}
