/** What a host's journal knows of a command, as far as this question needs it. */
type JournalledCommand = Readonly<{
  commandId: string
  kind: string
  payload: unknown
  entries: readonly Readonly<{ step: string; mark: string; data?: unknown }>[]
  closed: Readonly<{ result: unknown }> | null
}>

type Ended = { outcome?: unknown; error?: unknown; failure?: unknown; result?: unknown } | null

/**
 * Why a box rests behind a fence that nobody lifts any more: its way back failed, or it is proven and only opening it failed. Undefined while
 * the fence may still be needed: its holder works on, ended otherwise, or is not known, or another host has the box. `commands` are the box's.
 */
export function whyAtRest(
  holder: string,
  box: Readonly<{ ownershipEpoch: number; handedOver?: unknown }>,
  commands: readonly JournalledCommand[],
): 'way back' | 'opening' | undefined {
  const ended = commands.flatMap((command) => (command.closed ? [{ ...command, result: command.closed.result as Ended }] : []))
  const own = ended.find(({ commandId }) => commandId === holder)
  const failedToHandOver = own?.kind === 'tenant-box.hand_over' && own.result?.failure !== undefined
  // It may have failed to take back even its record. One that was written later, under another owner, says that the box is not ours.
  if (box.handedOver && !(failedToHandOver && (own.payload as { ownershipEpoch?: unknown }).ownershipEpoch === box.ownershipEpoch))
    return undefined
  if (failedToHandOver) return 'way back'
  // A box that is taken back bears the fence of the hand-over until it is opened.
  if (ended.some(({ kind, result, entries }) => kind === 'tenant-box.take_back' && result?.result && wasToLift(entries, holder)))
    return 'opening'
  const { outcome, error } = own?.result ?? {}
  if (outcome === 'rollback_failed' || outcome === 'restore_failed') return 'way back'
  return own?.kind === 'tenant-box.take_over' && outcome === 'restored' && error ? 'opening' : undefined
}

const wasToLift = (entries: JournalledCommand['entries'], holder: string): boolean =>
  entries.some(({ step, mark, data }) => step === 'start' && mark === 'done' && (data as { holder?: unknown })?.holder === holder)
