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

const proxyHint = (facts: BoxImport['facts']): string =>
  facts && facts.addresses.length === 0 ? ' No address of the stack leads to the box: point the reverse proxy to its public port.' : ''
