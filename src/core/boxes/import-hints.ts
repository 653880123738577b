import { plural } from '../kit/index.ts'
import type { DatabaseCopy } from './import-plan.ts'
import type { BoxImport, ImportState } from './import-record.ts'

const over: readonly ImportState[] = ['failed', 'undone', 'finished']
export const isImportFinished = (state: ImportState): boolean => over.includes(state)

/** Names the next command of an operator; undefined while the agent works on it. */
export const importHint = ({ state, project, facts }: BoxImport, slug: string): string | undefined =>
  ({
    importing: undefined,
    undoing: undefined,
    finishing: undefined,
    imported: `${slug} runs as a box; its stack ${project} is stopped and complete.${proxyHint(facts)} Return to it: tenantry boxes import ${slug} --undo; end the return path: tenantry boxes import ${slug} --finish`,
    failed: `The stack ${project} runs as before.`,
    undone: `The stack ${project} runs again. The volumes of the box stay until the next import.`,
    finished: `${slug} is a box like any other.`,
  })[state]

export const databaseCopyText = ({ mode, reason }: DatabaseCopy): string =>
  mode === 'hot'
    ? 'copied while the stack serves'
    : `dumped and loaded while the stack is stopped${reason === undefined ? '' : `: ${reason}`}`

const proxyHint = (facts: BoxImport['facts']): string =>
  facts && facts.addresses.length === 0 ? ' No address of the stack leads to the box: point the reverse proxy to its public port.' : ''

/** Text about a stack that is registered and not imported. */
export const observedText = (slug: string): string => `${slug} is only observed. fix: tenantry boxes import ${slug} --plan`

/** A box that an earlier version completed in the files of its former owner. It runs and is updated there. */
export const isInPlace = ({ managed, folder }: Readonly<{ managed: boolean; folder: string | null }>): boolean => managed && folder !== null

export const inPlaceText = (slug: string): string =>
  `${slug} runs in files that its former owner wrote, beside the box template. fix: tenantry boxes import ${slug} --plan`

/** The next command for an adopted stack. */
export const adoptedFindings = (box: Readonly<{ slug: string; managed: boolean; folder: string | null }>): string[] => [
  ...(box.managed ? [] : [observedText(box.slug)]),
  ...(isInPlace(box) ? [inPlaceText(box.slug)] : []),
]

export const notForeign = (slug: string): string => `box ${slug} is a box of the box template already; nothing to import`

/** Content that an undo of an import loses. */
export function writtenText(written: BoxImport['written']): string {
  if (written === null) return 'unknown: the database of the box does not answer'
  const { events, media, lastAt } = written
  return events + media === 0 ? 'nothing' : `${plural(events, 'event')} and ${media} media, the last at ${lastAt ?? 'an unknown time'}`
}
