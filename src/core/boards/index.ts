// Flow boards: the definition of a board, its check before publication, and the state of its runs.
// `checkBoard` finds what would get stuck; `startRun` and `stepRun` are the only way in which a run changes. Pure: it stores nothing, sends
// nothing and reads no clock.
export { boardFromBundle, bundleOf, FlowBundle, roomsNamed } from './bundle.ts'
export { bundleContract } from './bundle-contract.ts'
export { answerEveryMs, type ChatAnswer, chatAnswer } from './chat-answer.ts'
export { type ChatMessage, isOutdated, readChatMessage, saysOneOf } from './chat-trigger.ts'
export { checkBoard, checkInSteps } from './check.ts'
export { violationsOf } from './check-graph.ts'
export { roomOfTrigger, type TriggerPlace } from './check-triggers.ts'
export { type BoardSummary, boardsContract, Version } from './contract.ts'
export { dueOccurrences, nextOccurrence } from './cron-trigger.ts'
export {
  type BoardBindings,
  BoardDefinition,
  type BoardElement,
  BoardStart,
  boardLimits,
  boundRole,
  boundRoom,
  type ElementOf,
  FormField,
  isWork,
  StartVariable,
  type Trigger,
  type TriggerOf,
  type WorkElement,
  workerRole,
} from './definition.ts'
export { causeOf, eventStarts, maxDepth } from './event-trigger.ts'
export type { Variables } from './expression.ts'
export type { BoardFinding } from './finding.ts'
export { readForm, readStartVariables } from './form.ts'
export { movedState, moveRun } from './move-run.ts'
export { occurrenceKey } from './occurrence.ts'
export { type BoardStructure, type OperatorBoard, operatorBoardsContract } from './operator-contract.ts'
export {
  activeOf,
  type Board,
  type Closed,
  compileBoard,
  decidedCodes,
  fillsLabels,
  hasEnded,
  type RunEffect,
  type RunFailure,
  type RunInput,
  type RunNames,
  type RunState,
  type RunStatus,
  type Stepped,
  type TimerName,
  type Token,
} from './run.ts'
export { type Simulation, SimulationScript, simulateBoard, simulateInSteps } from './simulate.ts'
export { type SpaceUse, spaceUsesOf } from './space-uses.ts'
export { startRun, stepRun } from './step.ts'
export type { Steps } from './steps.ts'
export { fillTemplate } from './template.ts'
export { type TriggerOccurrence, triggersContract } from './trigger-contract.ts'
