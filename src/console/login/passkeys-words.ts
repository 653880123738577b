import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  title: titles.passkeys,
  answer: (count: number) => (count === 0 ? 'No passkey yet.' : `${plural(count, 'passkey')}.`),
  hint: 'A passkey is a key on your phone, computer or security key. It logs in without password and one-time code. Both still work.',
  needName: 'Browsers allow passkeys only at an https address with a name. The settings of this daemon name none (TENANTRY_PUBLIC_URL).',
  unsupported: 'This browser has no passkeys.',
  atProvider: 'This account logs in at the provider. Passkeys are for accounts with a password.',
  add: 'Add a passkey…',
  addTitle: 'Add a passkey?',
  addEffect:
    'Your browser asks where to store it, and for your PIN, finger or face. A person who unlocks that device can then log in as you.',
  name: 'Name, such as “Phone”',
  remove: 'Remove…',
  removeTitle: (name: string) => `Remove passkey ${name}?`,
  removeEffect: 'It logs in no more. Open sessions stay: end them under Sessions. Remove it from the device too.',
  never: 'never',
} as const
