const cve = /\bCVE-[0-9]{4}-[0-9]{4,19}\b/i

/** The first CVE id in a text, in upper case. */
export const cveIdIn = (text: string): string | undefined => cve.exec(text)?.[0].toUpperCase()

/** Length of the reason of an emergency, in characters. */
export const minReasonLength = 20
