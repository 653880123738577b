/** Who is given room, and for what: as operators read it. */
export type Holder = Readonly<{ commandId: string; what: string }>

type Held = Readonly<{ what: string; bytes: ReadonlyMap<string, number> }>

/** What others were promised on a disk, and for what. */
export type Promised = Readonly<{ bytes: number; to: readonly string[] }>

/**
 * The room that the commands in hand were told they have, by disk: two that look at the same free bytes must not both count on them (SAFETY,
 * prefetch). It is held until the command's end, whatever it has written by then: too much is kept, never too little.
 */
export type RoomLedger = Readonly<{
  promisedToOthers(commandId: string, disk: string): Promised
  /** What a command asks for anew on a disk takes the place of what it held there. */
  hold(holder: Holder, bytes: ReadonlyMap<string, number>): void
  release(commandId: string): void
}>

export function roomLedger(): RoomLedger {
  const held = new Map<string, Held>()
  return {
    promisedToOthers: (commandId, disk) => {
      const others = [...held].filter(([id, { bytes }]) => id !== commandId && (bytes.get(disk) ?? 0) > 0)
      return { bytes: others.reduce((sum, [, { bytes }]) => sum + (bytes.get(disk) ?? 0), 0), to: others.map(([, { what }]) => what) }
    },
    hold: ({ commandId, what }, bytes) =>
      void held.set(commandId, { what, bytes: new Map([...(held.get(commandId)?.bytes ?? []), ...bytes]) }),
    release: (commandId) => void held.delete(commandId),
  }
}
