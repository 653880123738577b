import type { CommandOutcome, LeasedCommand } from '../../core/hosts/index.ts'
import type { FileStore } from '../journal/index.ts'

/** A command in hand. It is on the shelf before anything is done for it, and until the daemon has its outcome. */
export type ShelvedCommand = Readonly<
  Pick<LeasedCommand, 'id' | 'kind' | 'boxId' | 'payload' | 'leaseToken'> & { outcome: CommandOutcome | null }
>

export type CommandShelf = Readonly<{
  all(): Promise<ShelvedCommand[]>
  put(command: ShelvedCommand): Promise<void>
  remove(id: string): Promise<void>
}>

/** One file a command; ids are safe as file names by their grammar. One that cannot be read is set aside: the others go on. */
export const commandShelf = (shelf: FileStore, onDamaged?: (path: string) => void): CommandShelf => ({
  all: async () => {
    const found = (await shelf.names()).map(async (name) => {
      const command = readCommand(await shelf.read(name))
      if (command) return command
      const path = await shelf.setAside(name)
      onDamaged?.(path)
      return []
    })
    return (await Promise.all(found)).flat()
  },
  put: (command) => shelf.write(`${command.id}.json`, JSON.stringify(command)),
  remove: (id) => shelf.remove(`${id}.json`),
})

function readCommand(text: string): ShelvedCommand | undefined {
  try {
    const command = JSON.parse(text) as ShelvedCommand | null
    return typeof command?.id === 'string' && typeof command.boxId === 'string' ? command : undefined
  } catch {
    return undefined
  }
}
