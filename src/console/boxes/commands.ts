import type { BoxDetail, Plan } from '../../core/boxes/index.ts'
import { quoted } from '../../core/kit/index.ts'
import { words } from './words.ts'

export type MoveTarget = Readonly<{ to: string; oldHostIsDead?: string; stoppedOnNewHost?: boolean }>

export const moveCommand = (slug: string, { to, oldHostIsDead, stoppedOnNewHost }: MoveTarget, reason: string): string =>
  [
    `tenantry boxes move ${slug} --to ${to || '<host>'} --reason ${quoted(reason)}`,
    oldHostIsDead && `--old-host-is-dead ${oldHostIsDead}`,
    stoppedOnNewHost && '--stopped-on-new-host',
  ]
    .filter(Boolean)
    .join(' ')

type Removing = Readonly<{ isNow: boolean; deadHost: string | undefined }>

export const removeCommand = (slug: string, { isNow, deadHost }: Removing, reason: string): string => {
  const how = deadHost === undefined ? (isNow ? ' --now' : '') : ` --host-is-dead ${deadHost}`
  return `tenantry boxes remove ${slug}${how} --reason ${quoted(reason)}`
}

export type AdoptTexts = Readonly<Record<'slug' | 'folder' | 'project' | 'name' | 'chatDomain' | 'publicUrl', string>>

export function adoptCommand({
  slug,
  host,
  folder,
  project,
  name,
  plan,
  chatDomain,
  publicUrl,
}: AdoptTexts & Readonly<{ host: string | undefined; plan: Plan }>): string {
  const stack = `tenantry boxes adopt ${slug || '<slug>'} --host ${host ?? '<host>'} --folder ${folder || '<path>'} --project ${project || '<name>'}`
  return `${stack} --name ${quoted(name || '…')} --plan ${plan} --domain ${chatDomain || '<domain>'}${publicUrl ? ` --public-url ${publicUrl}` : ''}`
}

/** Why a box cannot move now, before the daemon is asked for a plan. */
export function whyNotMoved({ live, managed }: Pick<BoxDetail, 'live' | 'managed'>): string | undefined {
  if (!live) return words.notReady
  return managed ? undefined : words.onlyObserved
}

/** `drop`: names that the plan lists and that the box may lack. */
export const importCommand = (slug: string, drop: readonly string[], rest: string): string =>
  `tenantry boxes import ${slug}${drop.length > 0 ? ` --drop ${quoted(drop.join(','))}` : ''} ${rest}`
