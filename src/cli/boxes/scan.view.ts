import type { BoxRow, Component } from '../../core/boxes/index.ts'
import { plural } from '../../core/kit/index.ts'
import { type Column, clean, type Look, sections, table } from '../kit/index.ts'
import { severityText, severityTint } from './boxes.view.ts'
import type { Scanned } from './scan.ts'

/** Drift per component, then what could not be asked, then what to type next. */
export function scanView(result: Scanned | { commands: readonly unknown[]; unreachable: Scanned['unreachable'] }, look: Look): string {
  if (!('boxes' in result)) return `${plural(result.commands.length, 'box is', 'boxes are')} being asked. See: tenantry boxes list`
  const { boxes, unreachable, failed } = result
  if (boxes.length === 0) return 'No boxes yet. Make one: tenantry boxes provision --help'
  return sections(
    table(look, columns(result), boxes),
    unreachable.map(({ slug, host }) => look.paint.yellow(`${slug}: its host ${clean(host)} is offline`)).join('\n'),
    failed.map(({ slug, error }) => look.paint.red(`${slug}: ${clean(error)}`)).join('\n'),
    summary(boxes),
  )
}

const columns = (scanned: Scanned): Column<BoxRow>[] => [
  { title: 'BOX', value: ({ slug }) => slug, priority: 1, least: 12 },
  { title: 'DRIFT', value: ({ severity }) => severityText(severity), priority: 1, paint: ({ severity }) => severityTint[severity] },
  component('SYNAPSE', 'synapse', scanned),
  component('POSTGRES', 'postgres', scanned),
  component('MINIO', 'minio', scanned),
  component('MIGRATIONS', 'migrationsHead', scanned),
  { title: 'HOST', value: ({ host }) => host, priority: 4, least: 8 },
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
  least: 10,
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
