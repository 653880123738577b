// Rollouts as rules: states and moves, phases, plans, and what the engine should do next. All of it pure.
// It decides who goes when and what an outcome means; it never asks a box anything and keeps no time.
export {
  ActionError,
  ActionStatus,
  type ActionUndo,
  type AttemptStep,
  RolloutAction,
  RolloutAttempt,
  UndoMode,
} from './action.ts'
export { aheadOfPlan, goesBack } from './ahead-of-plan.ts'
export { attemptSteps, endOfCommand } from './attempt-steps.ts'
export { IdempotencyKey, RolloutDetail, rolloutsContract } from './contract.ts'
export {
  type CommandStep,
  decide,
  type EngineAction,
  type EngineCommand,
  type EngineRollout,
  failedStatuses,
  inFlightStatuses,
  isFailure,
  isInFlight,
  type Step,
} from './decide.ts'
export { awaitsUndo, decideUndo, isUndoAtRest } from './decide-undo.ts'
export {
  cveIdIn,
  type EmergencyOrder,
  EmergencyTargets,
  emergencyManifest,
  leastReason,
  newEmergencyId,
  readEmergencyOrder,
  type UncheckedOrder,
  versionsNamed,
} from './emergency.ts'
export { emergencyContract } from './emergency-contract.ts'
export { AttemptEvidence, evidenceOf } from './evidence.ts'
export { type Examination, examineAgain, examineBox, isAtTarget } from './examine-box.ts'
export { FindingCode, refusalsOf, whyRefused } from './finding.ts'
export { judgeImagesBack, judgeSnapshotBack, type UndoVerdict, undoFailed } from './judge-undo.ts'
export { judgeUpdate } from './judge-update.ts'
export type { KnownBox } from './known-box.ts'
export { type PhaseBoxes, spreadOf, stepSpreads, tellStory } from './make-report.ts'
export { makespanMs, nextTurns, type Parallelism } from './makespan.ts'
export { type ClosedWindow, explainEmergencyPause, explainEmergencyStop, explainHold, explainOverdue, explainWait } from './pause-reason.ts'
export { assignPhases, type Candidate, chooseCanaries } from './phases.ts'
export { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'
export { dumpMsOf, type Expectation, type PastUpdate } from './plan-expectations.ts'
export { type HostToAsk, hostsToAsk, pinnedDigests, type RegistryAnswer, type RegistryAnswers, unresolvedImages } from './plan-images.ts'
export { changedImages, type PlanInput, planRollout } from './plan-rollout.ts'
export { type DoneUpdate, holesByImages, planUndo, planUndoOf } from './plan-undo.ts'
export { statusAfter } from './progress.ts'
export type { PastWayBack } from './propose-fence.ts'
export {
  Rehearsal,
  RehearsalWanted,
  type RehearsedBox,
  type RehearsedFaults,
  type RehearsedPause,
} from './rehearsal-contract.ts'
export type { RehearsalGiven, RehearsalSettings } from './rehearsal-settings.ts'
export { type PhaseSpan, RolloutReport, type StepSpread, type TimelineEntry, type WayBack } from './report.ts'
export {
  ActionCounts,
  type AuditLine,
  FenceMode,
  Phase,
  Rollout,
  RolloutKind,
  RolloutStatus,
  RolloutSummary,
  type UndoCounts,
} from './rollout.ts'
export { RolloutEvent, RolloutEventType } from './rollout-event.ts'
export { tellWayBack, type WentBack } from './tell-way-back.ts'
export { isOver, phaseOf, phaseOrder, type RolloutMove, type RolloutState, transition } from './transition.ts'
export { calendarsFrom, closedWindow, fenceNeedsMs, turnNeedsMs } from './turn-windows.ts'
export type { Fixes } from './undo-findings.ts'
export { UndoneBox, UndoPlan } from './undo-plan.ts'
