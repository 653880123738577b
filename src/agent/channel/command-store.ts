import type { CommandOutcome, LeasedCommand } from '../../core/hosts/index.ts'
import type { FileStore } from '../journal/index.ts'

/** A command of this agent. It is stored before it starts and until the daemon has its outcome. */
export type StoredCommand = Readonly<
  Pick<LeasedCommand, 'id' | 'kind' | 'boxId' | 'payload' | 'leaseToken' | 'trace'> & { outcome: CommandOutcome | null }
>

export type CommandStore = Readonly<{
  all(): Promise<StoredCommand[]>
  put(command: StoredCommand): Promise<void>
  remove(id: string): Promise<void>
}>

/** One file a command; ids are safe as file names by their grammar. One that cannot be read is set aside; the others run. */
export const commandStore = (files: FileStore, onDamaged?: (path: string) => void): CommandStore => ({
  all: async () => {
    const found = (await files.names()).map(async (name) => {
      const command = readCommand(await files.read(name))
      if (command) return command
      const path = await files.setAside(name)
      onDamaged?.(path)
      return []
    })
    return (await Promise.all(found)).flat()
  },
  put: (command) => files.write(`${command.id}.json`, JSON.stringify(command)),
  remove: (id) => files.remove(`${id}.json`),
})

function readCommand(text: string): StoredCommand | undefined {
  try {
    const command = JSON.parse(text) as StoredCommand | null
    return typeof command?.id === 'string' && typeof command.boxId === 'string' ? command : undefined
  } catch {
    return undefined
  }
}
