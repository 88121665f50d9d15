import { describe, expect, test } from 'vitest'
import { bytesOf, readLeader } from './leader.ts'

function read(line: string) {
  const bytes = bytesOf(line)
  const { tid, nameFrom, nameTo, half } = readLeader(bytes, 0, bytes.length)
  return [tid, new TextDecoder().decode(bytes.subarray(nameFrom, nameTo)), half]
}

describe('what stands before a call', () => {
  test.each([
    ['42    1796068214.567741 openat(AT_FDCWD</lab>, "/x", O_RDONLY) = 3 <0.000045>', [42, 'openat', 0]],
    ['906   close(3) = 0', [906, 'close', 0]],
    ['[pid  2658] 12:52:01.283177 read(3, "", 1) = 0', [2658, 'read', 0]],
    ['25708<node> 1796068214.502267123 read(3, "", 1) = 0', [25708, 'read', 0]],
    ['25708<a> b> read(3) = 0', [25708, 'b', 0]],
    ['12:52:01 mmap(NULL, 1) = 0x7f', [0, 'mmap', 0]],
    ['     0.000008 brk(NULL) = 0x55', [0, 'brk', 0]],
    ['7     (+     0.000012) brk(NULL) = 0x55', [7, 'brk', 0]],
    ['1796068214.502267 brk(NULL) = 0x55', [0, 'brk', 0]],
    ['1796068214 brk(NULL) = 0x55', [0, 'brk', 0]],
    ['126   1796068696.273360 epoll_ctl(9, EPOLL_CTL_ADD, 10 <unfinished ...>', [126, 'epoll_ctl', 1]],
    ['126   1796068696.273394 <... epoll_ctl resumed>) = 0 <0.000011>', [126, 'epoll_ctl', 2]],
    ['9     1796068214.567741 --- SIGTERM {si_signo=SIGTERM} ---', [9, 'SIGTERM', 0]],
    ['9     1796068214.567741 +++ exited with 0 +++', [9, 'exited', 0]],
    ['9     write(1, ") = 0 <unfinished ...>", 21) = 21', [9, 'write', 0]],
    ['', [0, '', 0]],
    ['strace: Process 9 attached', [0, 'strace', 0]],
    ['42', [42, '', 0]],
    ['[pid', [0, '', 0]],
    ['---', [0, '', 0]],
    ['99999999999 x(', [0, 'x', 0]],
  ])('%j', (line, expected) => {
    expect(read(line)).toEqual(expected)
  })
})
