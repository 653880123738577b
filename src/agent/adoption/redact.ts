/** A name that ends so belongs to something that nobody else may know. */
const named =
  /((?:password|passphrase|secret|token|macaroon|secret_key|private_key|seed)[\w.-]*["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,}"'#][^\s,}]*)/gi
/** Accounts in addresses: `postgres://user:password@host`. */
const inAddress = /(:\/\/[^\s:@/"']+:)[^\s@/"']+(?=@)/g

const shortest = 6

/**
 * Takes secrets out of a text for a person: the known ones wherever they stand, and whatever is called like one. A path to a file is
 * no secret, but hiding it costs less than showing the other.
 */
export function redact(text: string, known: readonly string[]): string {
  const whole = [...new Set(known)].filter((value) => value.length >= shortest).sort((a, b) => b.length - a.length)
  return whole
    .reduce((now, value) => now.replaceAll(value, '[secret]'), text)
    .replace(named, '$1[secret]')
    .replace(inAddress, '$1[secret]')
}
