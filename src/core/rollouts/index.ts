// Rollouts as rules: states and moves, phases, plans, and what the engine should do next. All of it pure.
// It decides who goes when and what an outcome means; it never asks a box anything and keeps no time.
export {
  ActionError,
  type ActionRollback,
  ActionStatus,
  type AttemptStep,
  RollbackMode,
  RolloutAction,
  RolloutAttempt,
} from './action.ts'
export { aheadOfPlanFinding, isDowngrade } from './ahead-of-plan.ts'
export { attemptSteps, endOfCommand } from './attempt-steps.ts'
export { IdempotencyKey, RolloutDetail, rolloutsContract } from './contract.ts'
export {
  type CommandStep,
  type EngineAction,
  type EngineCommand,
  type EngineRollout,
  failedStatuses,
  inFlightStatuses,
  isFailure,
  isInFlight,
  planSteps,
  type Step,
} from './decide.ts'
export { awaitsRollback, isRollbackStalled, planRollbackSteps } from './decide-undo.ts'
export {
  cveIdIn,
  type EmergencyOrder,
  EmergencyTargets,
  emergencyManifest,
  minReasonLength,
  namedVersions,
  newEmergencyId,
  readEmergencyOrder,
  type UncheckedOrder,
} from './emergency.ts'
export { emergencyContract } from './emergency-contract.ts'
export { AttemptEvidence, evidenceOf } from './evidence.ts'
export { isAtTarget, type Preflight, preflightBox, preflightRetry } from './examine-box.ts'
export { FindingCode, refusalsOf, refusalText } from './finding.ts'
export { evaluateImageRollback, evaluateSnapshotRollback, type RollbackVerdict, rollbackFailed } from './judge-undo.ts'
export { evaluateUpdate } from './judge-update.ts'
export type { KnownBox } from './known-box.ts'
export { buildTimeline, type PhaseBoxes, spreadOf, stepSpreads } from './make-report.ts'
export { assignSlots, makespanMs, type Parallelism } from './makespan.ts'
export { type ClosedWindow, explainEmergencyPause, explainEmergencyStop, explainHold, explainOverdue, explainWait } from './pause-reason.ts'
export { assignPhases, type Candidate, chooseCanaries } from './phases.ts'
export { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'
export { dumpMsOf, type Expectation, type PastUpdate } from './plan-expectations.ts'
export { type HostToAsk, hostsToAsk, pinnedDigests, type RegistryAnswer, type RegistryAnswers, unresolvedImages } from './plan-images.ts'
export { changedImages, type PlanInput, planRollout } from './plan-rollout.ts'
export { type CompletedUpdate, imageRollbackVulnerabilities, planBoxRollback, planRollback } from './plan-undo.ts'
export { statusAfter } from './progress.ts'
export type { PastRollback } from './propose-fence.ts'
export {
  Rehearsal,
  RehearsalRequest,
  type RehearsedBox,
  type RehearsedFaults,
  type RehearsedPause,
} from './rehearsal-contract.ts'
export type { RehearsalInput, RehearsalSettings } from './rehearsal-settings.ts'
export { type PhaseSpan, type RollbackSpan, RolloutReport, type StepSpread, type TimelineEntry } from './report.ts'
export {
  ActionCounts,
  type AuditLine,
  FenceMode,
  Phase,
  type RollbackCounts,
  Rollout,
  RolloutKind,
  RolloutStatus,
  RolloutSummary,
} from './rollout.ts'
export { RolloutEvent, RolloutEventType } from './rollout-event.ts'
export { type BoxRollbackSpan, rollbackSpanOf } from './tell-way-back.ts'
export { isOver, phaseOf, phaseOrder, type RolloutMove, type RolloutState, transition } from './transition.ts'
export { calendarsFrom, closedWindow, fenceNeedsMs, updateNeedsMs } from './turn-windows.ts'
export type { Fixes } from './undo-findings.ts'
export { PlannedRollback, RollbackPlan } from './undo-plan.ts'
