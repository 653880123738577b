// The rules of rollouts: transitions, phases, plans, preflight findings, and the next steps of the engine. All pure.
// It decides the order of boxes and evaluates their results; it never contacts a box and reads no clock.
export {
  ActionError,
  type ActionRollback,
  ActionStatus,
  AttemptEvidence,
  type AttemptStep,
  attemptSteps,
  endOfCommand,
  evidenceOf,
  RollbackMode,
  RolloutAction,
  RolloutAttempt,
} from './action.ts'
export {
  lastMoveText,
  manifestCommand,
  type ReturnedBoxes,
  skippedBoxes,
  stillAsked,
  stillAskedText,
  updateSkippedCommand,
} from './after-rollback.ts'
export {
  type BoardModel,
  boardModel,
  currentRollout,
  type Failure,
  type PhaseLine,
  type PhaseState,
  type RunningBox,
  updatedPercent,
  updatedText,
} from './board-model.ts'
export { allBoxes, type BoardMessage, type BoardState, boxesOf, boxOf, isBoardOver, openBoard, reduce } from './board-state.ts'
export { type BoxRollbackSpan, buildTimeline, type PhaseBoxes, rollbackSpanOf, spreadOf, stepSpreads } from './build-report.ts'
export { IdempotencyKey, RolloutDetail, rolloutsContract } from './contract.ts'
export { cveIdIn, minReasonLength } from './cve.ts'
export {
  type EmergencyOrder,
  EmergencyTargets,
  emergencyManifest,
  namedVersions,
  newEmergencyId,
  readEmergencyOrder,
  type UncheckedOrder,
} from './emergency.ts'
export { emergencyContract } from './emergency-contract.ts'
export { type EmergencyLack, emergencyLackFix, emergencyLacks, emergencyLackText, preventsEmergency } from './emergency-lacks.ts'
export {
  evaluateImageRollback,
  evaluateSnapshotRollback,
  evaluateUpdate,
  type RollbackVerdict,
  rollbackFailed,
  rolledBack,
} from './evaluate-result.ts'
export {
  chooseFence,
  RequestedFence,
  RequestedSnapshot,
  requestedFence,
  requestedSnapshot,
  snapshotOrder,
  type TierFences,
} from './fence-choice.ts'
export { FindingCode, refusalsOf, refusalText } from './finding.ts'
export type { Gate, GateState, NoAnswer } from './gate.ts'
export {
  afterAnswer,
  answerText,
  type GateAnswer,
  gatesMs,
  gatesOf,
  gateText,
  isGateDue,
  limitsText,
  onNoAnswerText,
  unaskedGates,
  valueText,
} from './gates.ts'
export type { KnownBox } from './known-box.ts'
export { movedImages } from './moved-images.ts'
export type { PastRollback } from './past-rollback.ts'
export {
  type ClosedWindow,
  explainEmergencyPause,
  explainEmergencyStop,
  explainHold,
  explainOverdue,
  explainWait,
  isBaking,
  isHeld,
  mustSkipFailures,
  reasonWithout,
} from './pause-reason.ts'
export { isOver, phaseOf, phaseOrder } from './phases.ts'
export { type ActiveRollout, PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'
export { dumpMsOf, type Expectation, type PastUpdate, proofMs } from './plan-expectations.ts'
export {
  combineAnswers,
  type HostToAsk,
  hostsToAsk,
  isSettled,
  knownImages,
  pinnedDigests,
  type RegistryAnswer,
  type RegistryAnswers,
  unresolvedImages,
} from './plan-images.ts'
export { imageRollbackVulnerabilities, planBoxRollback, planRollback, RollbackPlan } from './plan-rollback.ts'
export { awaitsRollback, isRollbackStalled, planRollbackSteps } from './plan-rollback-steps.ts'
export { bakesMs, changedImages, type PlanInput, planRollout } from './plan-rollout.ts'
export {
  type Bake,
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
  statusAfter,
} from './plan-steps.ts'
export { type FindingKind, findingsByKind, imageSource, inPhaseOrder, restoredText } from './plan-text.ts'
export { aheadOfPlanFinding, isAtTarget, isDowngrade, type Preflight, preflightBox, preflightRetry } from './preflight.ts'
export { healthFindings } from './preflight-state.ts'
export { isUpgrade, rehearsedDigestFindings } from './preflight-upgrade.ts'
export type { RehearsalInput, RehearsalSettings, UpgradeRules } from './rehearsal-contract.ts'
export {
  Rehearsal,
  RehearsalRequest,
  type RehearsedBox,
  type RehearsedFaults,
  type RehearsedPause,
} from './rehearsal-contract.ts'
export { type BoxUpdate, RolloutReport, type StepSpread } from './report-contract.ts'
export { isSnapshotStored, outcomeAfterFailure, timelineText } from './report-text.ts'
export { type CompletedUpdate, PlannedRollback } from './rollback.types.ts'
export type { Fixes } from './rollback-findings.ts'
export {
  ActionCounts,
  type AuditLine,
  Phase,
  type RollbackCounts,
  Rollout,
  RolloutKind,
  type RolloutState,
  RolloutStatus,
  RolloutSummary,
  StillAsked,
} from './rollout.ts'
export { RolloutEvent, RolloutEventType } from './rollout-event.ts'
export {
  byPhase,
  countsText,
  failuresIn,
  isOpenFailure,
  leftOutBoxes,
  listedState,
  pausedPhase,
  progressText,
  skipReason,
} from './rollout-text.ts'
export { assignPhases, assignSlots, type Candidate, chooseCanaries, limitsOf, makespanMs, type Parallelism } from './scheduling.ts'
export type { RolloutMove } from './transition.ts'
export { transition } from './transition.ts'
export { calendarsFrom, closedWindow, fenceNeedsMs, updateNeedsMs } from './update-windows.ts'
export {
  actionTint,
  bakeText,
  downtimeParts,
  errorOf,
  fenceEndText,
  fenceModes,
  fenceModeText,
  gateTint,
  hasFailed,
  isInProgress,
  isRollingBack,
  type NextStep,
  outcomeTint,
  outcomeWord,
  promotablePast,
  queuedText,
  rolloutState,
  rolloutWord,
  snapshotModes,
  snapshotModeText,
  snapshotText,
  stateTint,
  statusWord,
  stepsWhenNotWatching,
  stepWordIn,
  stopText,
  type Tint,
  waitOf,
  whyOf,
  withShortDigests,
} from './words.ts'
