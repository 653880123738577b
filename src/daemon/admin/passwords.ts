import { hash, verify } from '@node-rs/argon2'
import { type Random, randomText } from '../../core/kit/index.ts'

/** Argon2id with 19 MiB and two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, cost)

let dummy: Promise<string> | undefined

/** Whether the password fits. Without a hash to compare with it works as long and says no, so that time tells nobody which names exist. */
export async function passwordFits(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  dummy ??= hashPassword('no account has this password')
  const fits = await verify(passwordHash ?? (await dummy), password)
  return fits && typeof passwordHash === 'string'
}

/** A password for one login: 80 bits, in groups that can be read out. */
export const makeInitialPassword = (random: Random): string => grouped(randomText(random, 16))

export const grouped = (text: string): string => (text.match(/.{4}/g) ?? []).join('-')
