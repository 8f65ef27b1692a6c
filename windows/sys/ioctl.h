// The size of a terminal.
#ifndef ONNX_MEM_WINDOWS_SYS_IOCTL_H_
#define ONNX_MEM_WINDOWS_SYS_IOCTL_H_

#define TIOCGWINSZ 1

struct winsize {
  unsigned short ws_row, ws_col;
};

int ioctl(int fd, int request, winsize* size);

#endif  // ONNX_MEM_WINDOWS_SYS_IOCTL_H_
