/* Wrong: this does not compile. */

#include <stdio.h>

int main(void) {
    printf("I would have played well\n")
    return 0;
}
