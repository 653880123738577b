import type { EndStep, Saga } from '../saga/index.ts'

/** Tried this often, a step that must be done in the end is abandoned and reported. */
const maxTries = 5
/** Without the foreign stack no server serves its users: with the pauses in between about a quarter of an hour. */
const maxReturnTries = 20

const after = <Step extends string>(name: Step): EndStep<Step, unknown> => ({ name, maxTries })

export type ImportStep =
  | 'survey'
  | 'images'
  | 'files'
  | 'prepare'
  | 'copy'
  | 'fence'
  | 'data'
  | 'compare'
  | 'start'
  | 'account'
  | 'probe'
  | 'deliver'
  | 'keep'
  | 'open'
  | 'rest'
  | 'tidy'
  | 'halt'
  | 'return'
  | 'clear'

/** `quiet`: the foreign chat server, its object store and what holds its addresses are stopped. */
export type ImportWorld = Readonly<{ quiet: boolean }>

/**
 * A box is made of a foreign stack's data. No client reaches it before it is proven and recorded, so removing it loses nothing. A foreign chat
 * server that was started meanwhile is stopped again, and its data are taken again.
 */
export const importSaga: Saga<ImportStep, ImportWorld> = {
  name: 'import',
  steps: [
    { name: 'survey' },
    { name: 'images' },
    { name: 'files' },
    { name: 'prepare' },
    { name: 'copy' },
    { name: 'fence', holds: (_, { quiet }) => quiet },
    { name: 'data' },
    { name: 'compare' },
    { name: 'start' },
    { name: 'account' },
    { name: 'probe' },
    { name: 'deliver' },
    { name: 'keep' },
  ],
  finish: [after('open'), after('rest'), after('tidy')],
  // The stack runs first: what is left of the box may stay if it must.
  compensation: [
    { name: 'halt', when: ({ begun }) => begun.has('fence'), maxTries: maxReturnTries },
    { name: 'return', when: ({ begun }) => begun.has('fence'), maxTries: maxReturnTries },
    { name: 'clear', when: ({ begun }) => begun.has('files'), maxTries },
  ],
  mustFinishFrom: ['files'],
}

export type UndoImportStep = 'close' | 'stop' | 'start' | 'prove' | 'keep' | 'discard' | 'halt' | 'restart' | 'open'

/** The foreign stack runs again. Where it does not, the box does. */
export const undoImportSaga: Saga<UndoImportStep, unknown> = {
  name: 'undo of the import',
  steps: [{ name: 'close' }, { name: 'stop' }, { name: 'start' }, { name: 'prove' }, { name: 'keep' }],
  finish: [after('discard')],
  compensation: [
    { name: 'halt', when: ({ begun }) => begun.has('start'), maxTries },
    { name: 'restart', when: ({ begun }) => begun.has('stop'), maxTries: maxReturnTries },
    { name: 'open', when: ({ begun }) => begun.has('close'), maxTries },
  ],
}
