import { printable } from '../kit/index.ts'

/** What Synapse takes. */
const longest = 100

export const defaultDeviceName = 'Platform login'

/** The name that the device gets in the chat: as given, cut to what the chat server takes, or the default. */
export function deviceNameOf(given: string | undefined): string {
  const name = printable(given ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return name === '' ? defaultDeviceName : Array.from(name).slice(0, longest).join('')
}
