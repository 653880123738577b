const megabyte = 1024 ** 2
export const gigabyte = 1024 ** 3

/** `1.5 GB`; rounded down, so that usage below the limit never reads as full. */
export function formatSize(bytes: number): string {
  const [unit, factor] = bytes >= gigabyte ? ['GB', gigabyte] : ['MB', megabyte]
  return `${Math.floor((bytes / factor) * 100) / 100} ${unit}`
}
