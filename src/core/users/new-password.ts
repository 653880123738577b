import { type Random, randomText } from '../kit/index.ts'

/** A password that is made: four groups of four, 80 bits, to be typed once by hand. No cell of a spreadsheet takes it for a formula. */
export const newPassword = (random: Random): string => (randomText(random, 16).match(/.{4}/g) ?? []).join('-')
