import type { LogLine } from './services.ts'

/** True for a line with the text in its message or its service; capitals do not matter. */
export function lineMatches({ service, text }: Pick<LogLine, 'service' | 'text'>, wanted: string): boolean {
  const lower = wanted.toLowerCase()
  return text.toLowerCase().includes(lower) || service.includes(lower)
}
