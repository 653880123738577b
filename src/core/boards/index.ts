// Flow boards: the definition of a board, its check before publication, and the state of its runs.
// `checkBoard` finds what would get stuck; `startRun` and `stepRun` are the only way in which a run changes. Pure: it stores nothing, sends
// nothing and reads no clock.
export { boardFromBundle, bundleFormat, bundleOf, FlowBundle, roomsNamed } from './bundle.ts'
export { bundleContract } from './bundle-contract.ts'
export { checkBoard } from './check.ts'
export type { BoardFinding } from './check-graph.ts'
export { type BoardSummary, boardsContract } from './contract.ts'
export { BoardDefinition, type BoardElement } from './definition.ts'
export { activeOf, type Board, compileBoard, type RunEffect, type RunInput, type RunState } from './run.ts'
export { startRun, stepRun } from './step.ts'
